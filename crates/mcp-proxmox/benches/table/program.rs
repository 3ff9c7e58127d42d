//! The real program as a child process: lines in, lines out, and what it takes of memory.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
};

use pve_sim::Sim;
use serde_json::{Value, json};

/// The running program.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

/// Its file: the one that was built for this run, or the one that `MCP_PROXMOX_BINARY` names, such as what is
/// published.
pub fn file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let named = std::env::var_os("MCP_PROXMOX_BINARY").map(PathBuf::from);
        named.unwrap_or_else(|| env!("CARGO_BIN_EXE_mcp-proxmox").into())
    })
}

impl Program {
    /// Starts it for a cluster that it will perhaps never ask.
    pub fn start(host: &str, token_id: &str, secret: &str, fingerprint: &str) -> Self {
        let mut child = Command::new(file())
            .env_clear()
            .envs([("PVE_HOST", host), ("PVE_TOKEN_ID", token_id), ("PVE_TOKEN_SECRET", secret)])
            .envs([("PVE_TLS_FINGERPRINT", fingerprint)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        Self { input: child.stdin.take(), child, output, next_id: 1 }
    }

    /// Starts it for a simulated cluster and shakes hands.
    pub fn for_sim(sim: &Sim, token_id: &str, secret: &str) -> Self {
        let mut program =
            Self::start(&sim.address().to_string(), token_id, secret, sim.fingerprint());
        program.initialize();
        program
    }

    /// Shakes hands as clients did until 2026.
    pub fn initialize(&mut self) -> Value {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } });
        let answer = self.request("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    /// Sends a line.
    pub fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Sends a request without waiting, and says its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next line.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the program ended");
        line
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer: Value = serde_json::from_str(&self.line()).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer
    }

    /// Calls a tool, which has to succeed.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_ne!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        answer
    }

    /// The most memory that it took so far, in MiB, where the system tells.
    pub fn peak_mebibytes(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kibibytes / 1024.0)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
