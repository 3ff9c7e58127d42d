//! Runs a simulated cluster by hand, until it is interrupted.

use std::{io, io::Write as _, net::IpAddr, path::PathBuf, process::ExitCode};

use pve_sim::{
    Cluster, DEMO_AUDITOR_ID, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, GENERATED_TOKEN_ID,
    GENERATED_TOKEN_SECRET, Options, Sim,
};

const HELP: &str = "\
pve-sim: a simulated cluster of Proxmox VE over HTTPS

  pve-sim [--port PORT] [--address ADDRESS] [--ca FILE]             three nodes with some life in them
  pve-sim --incident …                                              the same on a bad day
  pve-sim --nodes N --guests N [--seed S] …                         a cluster of any size

  --port PORT        the port to listen on (8006; 0 takes a free one)
  --address ADDRESS  the address to listen on (127.0.0.1)
  --ca FILE          where to write the authority's certificate (pve-sim-ca.pem in the folder for temporary files)
  --plain-http       HTTP without TLS
  --quick            without the delays of a real server (3 s before a refused token is told)
";

/// What the command line says.
#[derive(Debug)]
struct Arguments {
    options: Options,
    nodes: Option<usize>,
    guests: Option<usize>,
    seed: u64,
    is_incident: bool,
    ca: PathBuf,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return told(HELP);
    }
    match read(&arguments) {
        Ok(arguments) => match serve(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&format!("the simulator cannot run: {error}"), 1),
        },
        Err(text) => complain(&format!("{text}\nhint: `pve-sim --help` lists what there is"), 2),
    }
}

fn read(arguments: &[String]) -> Result<Arguments, String> {
    let mut found = Arguments {
        options: Options { port: 8006, ..Options::realistic() },
        nodes: None,
        guests: None,
        seed: 1,
        is_incident: false,
        ca: std::env::temp_dir().join("pve-sim-ca.pem"),
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{name}` needs a value"));
        match name.as_str() {
            "--port" => found.options.port = number(name, value()?)?,
            "--address" => found.options.address = number::<IpAddr>(name, value()?)?,
            "--nodes" => found.nodes = Some(number(name, value()?)?),
            "--guests" => found.guests = Some(number(name, value()?)?),
            "--seed" => found.seed = number(name, value()?)?,
            "--ca" => found.ca = value()?.into(),
            "--incident" => found.is_incident = true,
            "--plain-http" => found.options.plain_http = true,
            "--quick" => {
                found.options.delay_401 = false;
                found.options.delay_595 = false;
            }
            _ => return Err(format!("`{name}` is not known")),
        }
    }
    Ok(found)
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{name}` cannot be `{value}`"))
}

#[tokio::main(flavor = "current_thread")]
async fn serve(arguments: Arguments) -> io::Result<()> {
    let Arguments { options, nodes, guests, seed, is_incident, ca } = arguments;
    let is_demo = nodes.is_none() && guests.is_none();
    let scheme = if options.plain_http { "http" } else { "https" };
    let (cluster, tokens) = if is_demo {
        let tokens = [(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET), (DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET)];
        let cluster = if is_incident { Cluster::incident() } else { Cluster::demo() };
        (cluster, tokens.to_vec())
    } else {
        let cluster = Cluster::generated(nodes.unwrap_or(3), guests.unwrap_or(30), seed);
        (cluster, vec![(GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET)])
    };
    let sim = Sim::start_with(cluster, options).await?;
    std::fs::write(&ca, sim.ca_pem())?;
    let tokens = tokens.iter().map(|(id, secret)| format!("token        {id}={secret}\n"));
    let text = format!(
        "address      {scheme}://{}/\n{}authority    {}\nfingerprint  {}\n",
        sim.address(),
        tokens.collect::<Vec<_>>().concat(),
        ca.display(),
        sim.fingerprint()
    );
    told(&text);
    // It runs until it is interrupted.
    std::future::pending().await
}

/// Prints to the standard output; whoever reads it may have gone.
fn told(text: &str) -> ExitCode {
    let mut output = io::stdout().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    ExitCode::SUCCESS
}

fn complain(text: &str, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "{text}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        read(&line.split_whitespace().map(str::to_owned).collect::<Vec<String>>())
    }

    #[test]
    fn flags_are_read() {
        assert!(parse("--incident").unwrap().is_incident);
        let found = parse("--nodes 4 --guests 100 --seed 9 --port 0 --quick").unwrap();
        assert_eq!(
            (found.nodes, found.guests, found.seed, found.options.port),
            (Some(4), Some(100), 9, 0)
        );
        assert!(!found.options.delay_401);
    }

    #[test]
    fn a_misfit_is_named() {
        assert_eq!(parse("--port x").unwrap_err(), "`--port` cannot be `x`");
        assert_eq!(parse("--port").unwrap_err(), "`--port` needs a value");
        assert_eq!(parse("--demo").unwrap_err(), "`--demo` is not known");
    }
}
