//! The console tools on the serial port and the VNC server of a real QEMU, which boots its firmware
//! (and finds nothing to start), behind the simulator's proxy.
//!
//! They need `qemu-system-x86_64`, so that they run only where they are asked for:
//! `cargo test -p mcp-proxmox --test it real_qemu -- --ignored`.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pve_sim::Sim;
use serde_json::json;

use crate::support::{answer, call, demo, text};

const PASSWORD: &str = "7/,ER=CV";

/// A QEMU that ends with the test.
struct Qemu {
    process: Child,
    serial: SocketAddr,
    vnc: SocketAddr,
}

impl Qemu {
    /// Starts one, whose ports are looked for from `place` on. With `waits` it does nothing before
    /// somebody connects to its serial port, so that the firmware's first words are not lost; without
    /// graphics the firmware writes to the serial port too.
    fn start(place: u16, waits: bool, more: &[&str]) -> Self {
        // Between finding a port free and QEMU's taking it somebody else may have taken it: QEMU then
        // ends at once, and the next one looks further on.
        (0..5)
            .find_map(|attempt| Self::try_start(place + attempt * 20, waits, more))
            .expect("one QEMU of five finds its ports free")
    }

    fn try_start(place: u16, waits: bool, more: &[&str]) -> Option<Self> {
        let serial = free_port(10_000 + place);
        let vnc = free_port(5900 + place);
        let wait = if waits { "on" } else { "off" };
        let chardev = format!(
            "socket,id=serial0,host=127.0.0.1,port={},server=on,wait={wait}",
            serial.port()
        );
        let process = Command::new("qemu-system-x86_64")
            .args(["-machine", "pc,accel=tcg,graphics=off", "-m", "64", "-nodefaults"])
            .args(["-no-user-config", "-device", "VGA"])
            .args(["-chardev", &chardev, "-device", "isa-serial,chardev=serial0"])
            .args(["-object", &format!("secret,id=vnc,data={}", PASSWORD.replace(',', ",,"))])
            .args(["-vnc", &format!("127.0.0.1:{},password-secret=vnc", vnc.port() - 5900)])
            .args(more)
            .stdin(Stdio::null())
            .spawn()
            .expect("qemu-system-x86_64 is installed");
        let mut qemu = Self { process, serial, vnc };
        let awaited = if waits { qemu.serial } else { qemu.vnc };
        qemu.listens_on(awaited).then_some(qemu)
    }

    /// Waits until it listens; false says that it ended instead. That is looked up in the kernel's
    /// table: connecting would use up the serial port, which serves one, and binding the address to
    /// see whether it is taken would take it from QEMU.
    fn listens_on(&mut self, address: SocketAddr) -> bool {
        let began = std::time::Instant::now();
        while !self.holds(address) {
            if self.process.try_wait().expect("a process of this test").is_some() {
                return false;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it does not listen on {address}");
            std::thread::yield_now();
        }
        true
    }

    /// Whether the socket that listens on this address is its own. A child that another test is starting
    /// holds, for a moment, the socket with which the port was found free.
    fn holds(&self, address: SocketAddr) -> bool {
        let Some(inode) = listening(address) else { return false };
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.process.id()));
        let socket = PathBuf::from(format!("socket:[{inode}]"));
        files
            .into_iter()
            .flatten()
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target == socket))
    }
}

/// The inode of the socket that listens on this address of this machine.
fn listening(address: SocketAddr) -> Option<String> {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux's table of connections");
    let local = format!("0100007F:{:04X}", address.port());
    table.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        // The state 0A is LISTEN.
        let is_it = words.get(1) == Some(&&*local) && words.get(3) == Some(&"0A");
        words.get(9).filter(|_| is_it).map(|inode| (*inode).to_owned())
    })
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port of this machine that nobody listens on, not below this one.
fn free_port(from: u16) -> SocketAddr {
    (from..from + 400)
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .find(|address| TcpListener::bind(address).is_ok())
        .expect("a free port")
}

async fn behind(qemu: &Qemu) -> Sim {
    let sim = demo().await;
    sim.change(|cluster| {
        let guest = cluster.guest_mut(110).unwrap();
        guest.terminal.relay = Some(qemu.serial);
        guest.screen.relay = Some((qemu.vnc, PASSWORD.to_owned()));
    });
    sim
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs qemu-system-x86_64"]
async fn the_firmware_of_a_real_qemu_is_read_and_seen() {
    let qemu = tokio::task::block_in_place(|| Qemu::start(0, true, &[]));
    let sim = behind(&qemu).await;
    let listening =
        json!({ "vm": 110, "listen_seconds": 40, "until_pattern": "No bootable device" });
    let answer = answer(&sim, "get_vm_console", listening).await;
    assert_eq!(answer["pattern_came"], true, "{answer}");
    let all = format!("{} {}", answer["earlier"], answer["screen"]);
    assert!(all.contains("SeaBIOS (version"), "{answer}");
    assert!(answer["shows"].to_string().contains("firmware"), "{answer}");

    let result = call(&sim, "get_vm_screenshot", json!({ "vm": 110 })).await;
    assert_ne!(result.is_error, Some(true), "{}", text(&result));
    let picture = result.content.iter().find_map(|block| block.as_image()).unwrap();
    let png = STANDARD.decode(&picture.data).unwrap();
    assert!(text(&result).contains("720 x 400 pixels"), "{}", text(&result));
    assert!(!text(&result).contains("one colour"), "{}", text(&result));
    assert!(png.len() > 800, "letters are on it: {} bytes", png.len());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs qemu-system-x86_64"]
async fn a_wrong_password_for_a_real_qemu_is_told_as_a_refusal() {
    let qemu = tokio::task::block_in_place(|| Qemu::start(500, false, &[]));
    let sim = behind(&qemu).await;
    sim.change(|cluster| {
        cluster.guest_mut(110).unwrap().screen.relay = Some((qemu.vnc, "wrong".to_owned()));
    });
    let told = crate::support::failure(&sim, "get_vm_screenshot", json!({ "vm": 110 })).await;
    assert!(told.contains("the screen refused the connection"), "{told}");
    assert!(!told.contains("wrong"), "{told}");
}

/// A QEMU whose firmware waits for a key, and then for a choice.
fn with_menu(place: u16) -> Qemu {
    tokio::task::block_in_place(|| {
        Qemu::start(place, true, &["-boot", "menu=on,splash-time=60000"])
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs qemu-system-x86_64"]
async fn keys_at_the_serial_port_of_a_real_qemu_open_the_menu_of_its_firmware() {
    let qemu = with_menu(700);
    let sim = behind(&qemu).await;
    let waiting = json!({ "vm": 110, "listen_seconds": 40, "until_pattern": "for boot menu" });
    let asked = answer(&sim, "get_vm_console", waiting).await;
    assert_eq!(asked["pattern_came"], true, "{asked}");
    let keys = json!({ "vm": 110, "serial": 0, "keys": ["esc"], "listen_seconds": 5 });
    let menu = crate::power::answer(&sim, "send_vm_keys", keys).await;
    assert_eq!(menu["outcome"], "sent", "{menu}");
    let all = format!("{} {}", menu["earlier"], menu["screen"]);
    assert!(all.contains("Select boot device"), "{menu}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs qemu-system-x86_64"]
async fn ctrl_alt_del_on_the_display_of_a_real_qemu_starts_it_anew() {
    let qemu = with_menu(900);
    let sim = behind(&qemu).await;
    let waiting = json!({ "vm": 110, "listen_seconds": 40, "until_pattern": "for boot menu" });
    let asked = answer(&sim, "get_vm_console", waiting.clone()).await;
    assert_eq!(asked["pattern_came"], true, "{asked}");
    let again = answer(&sim, "get_vm_console", waiting);
    let keys = async {
        // Only once somebody listens.
        let n_open = |sim: &Sim| {
            let seen = sim.requests().into_iter();
            seen.filter(|seen| seen.path.contains("/vncwebsocket")).count()
        };
        while n_open(&sim) < 2 {
            tokio::task::yield_now().await;
        }
        let keys = json!({ "vm": 110, "keys": ["ctrl-alt-del"] });
        crate::power::answer(&sim, "send_vm_keys", keys).await
    };
    let (again, sent) = tokio::join!(again, keys);
    assert_eq!((&sent["outcome"], &sent["keys_sent"]), (&json!("sent"), &json!("1 of 1")));
    let all = format!("{} {}", again["earlier"], again["screen"]);
    assert!(all.contains("SeaBIOS (version"), "it began anew: {again}");
}

/// A boot loader of one sector: it writes a line, and then every key that is pressed, through the
/// firmware, which writes to the screen and to the serial port.
fn boot_loader() -> Vec<u8> {
    let mut sector = vec![
        0x31, 0xc0, // xor ax, ax
        0x8e, 0xd8, // mov ds, ax
        0x31, 0xdb, // xor bx, bx
        0xbe, 0x1e, 0x7c, // mov si, the line
        0xac, // lodsb
        0x84, 0xc0, // test al, al
        0x74, 0x06, // jz to the keys
        0xb4, 0x0e, // mov ah, 0x0e
        0xcd, 0x10, // int 0x10: write a letter
        0xeb, 0xf5, // jmp to lodsb
        0xb4, 0x00, // mov ah, 0
        0xcd, 0x16, // int 0x16: wait for a key
        0xb4, 0x0e, // mov ah, 0x0e
        0xcd, 0x10, // int 0x10: write it
        0xeb, 0xf6, // jmp to waiting
    ];
    assert_eq!(sector.len(), 0x1e);
    sector.extend(b"tiny loader ready\r\n\0");
    sector.resize(510, 0);
    sector.extend([0x55, 0xaa]);
    // A disk of one cylinder, since firmware looks at its size.
    sector.resize(63 * 512 * 16, 0);
    sector
}

/// The rows of a screen as one text, since firmware breaks long lines.
fn joined(answer: &serde_json::Value) -> String {
    let rows = answer["screen"].as_array().unwrap().iter();
    rows.filter_map(serde_json::Value::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs qemu-system-x86_64"]
async fn what_is_typed_into_a_real_qemu_reaches_its_boot_loader_letter_by_letter() {
    let disk = std::env::temp_dir().join(format!("mcp-proxmox-disk-{}", std::process::id()));
    std::fs::write(&disk, boot_loader()).unwrap();
    let drive = format!("file={},format=raw,if=ide", disk.display());
    let qemu = tokio::task::block_in_place(|| Qemu::start(1100, true, &["-drive", &drive]));
    let sim = behind(&qemu).await;
    let waiting = json!({ "vm": 110, "listen_seconds": 40, "until_pattern": "tiny loader ready" });
    let booted = answer(&sim, "get_vm_console", waiting).await;
    assert_eq!(booted["pattern_came"], true, "{booted}");
    assert_eq!(booted["shows"], json!(["boot loader", "firmware"]), "{booted}");
    let text = "Aa zZ 09 !@#$%^&*()_+-={}[]|\\:;\"'<>,.?/~`";
    let serial = json!({ "vm": 110, "serial": 0, "text": text, "listen_seconds": 20 });
    let serial = crate::power::answer(&sim, "send_vm_keys", serial).await;
    assert!(joined(&serial).contains(text), "{serial}");
    let listening = json!({ "vm": 110, "listen_seconds": 30, "until_pattern": "~`" });
    let listening = answer(&sim, "get_vm_console", listening);
    let n_open = |sim: &Sim| {
        let seen = sim.requests().into_iter();
        seen.filter(|seen| seen.path.contains("/vncwebsocket")).count()
    };
    let typing = async {
        while n_open(&sim) < 3 {
            tokio::task::yield_now().await;
        }
        crate::power::answer(&sim, "send_vm_keys", json!({ "vm": 110, "text": text })).await
    };
    let (heard, sent) = tokio::join!(listening, typing);
    drop(qemu);
    std::fs::remove_file(&disk).unwrap();
    assert_eq!(sent["outcome"], "sent", "{sent}");
    assert!(joined(&heard).contains(text), "{heard}");
}
