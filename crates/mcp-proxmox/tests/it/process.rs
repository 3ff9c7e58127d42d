//! The real program as a child process, spoken to line by line.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread::JoinHandle,
    time::Duration,
};

use pve_sim::Sim;
use serde_json::{Value, json};

/// Longer than anything here takes; only a hanging program is stopped by it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The running program.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    next_id: i64,
}

/// What it left behind.
pub struct Ended {
    pub status: ExitStatus,
    /// Lines of standard output that were not read before.
    pub lines: Vec<String>,
    pub stderr: String,
}

/// The program, with nothing of this machine's environment that it would read.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-proxmox"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PVE_") {
            command.env_remove(name);
        }
    }
    command
}

/// The program, set up for `sim`.
pub fn program_for(sim: &Sim, token_id: &str, secret: &str) -> Command {
    let mut command = program();
    command
        .env("PVE_HOST", sim.address().to_string())
        .env("PVE_TOKEN_ID", token_id)
        .env("PVE_TOKEN_SECRET", secret)
        .env("PVE_TLS_FINGERPRINT", sim.fingerprint());
    command
}

impl Program {
    /// Serves the demo cluster.
    pub fn demo() -> Self {
        let mut command = program();
        command.arg("--demo");
        Self::start(&mut command)
    }

    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if line.is_err() || sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Self { input: child.stdin.take(), child, lines, errors: Some(errors), next_id: 1 }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends one line.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(&message.to_string());
    }

    pub fn send_raw(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is still open");
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// The next line of standard output, whatever it is.
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    /// The next line of standard output, which has to be a message of the protocol.
    pub fn receive(&mut self) -> Value {
        let line = self.line();
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("not JSON on standard output: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Shakes hands as clients did until 2026.
    pub fn initialize(&mut self, revision: &str) -> Value {
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let answer = self.request("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer["result"].clone()
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Sends a signal, such as `-TERM`.
    #[cfg(unix)]
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits for the end of a program whose input is still open.
    #[cfg(unix)]
    pub fn ends_by_itself(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    /// Closes the input and waits for the end.
    pub fn end(mut self) -> Ended {
        drop(self.input.take());
        let status = wait(&mut self.child);
        let stderr = self.errors.take().unwrap().join().unwrap();
        Ended { status, lines: self.lines.iter().collect(), stderr }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a variable of this machine's environment says about how much is tested.
pub fn number(variable: &str) -> Option<u64> {
    std::env::var_os(variable).map(|text| text.to_str().unwrap().parse().unwrap())
}

/// Waits for the end of a program that has every reason to end.
pub fn wait(child: &mut Child) -> ExitStatus {
    let started = std::time::Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("the program did not end");
        }
        std::thread::yield_now();
    }
}

/// Runs the program to its end: exit code, standard output, standard error.
pub fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}
