//! What the guests of the demo show on their consoles.

use crate::cluster::{Cluster, Kind, Program, Screen, Terminal};

/// The start of a Linux on a serial port: firmware, boot loader, kernel, services, login.
const BOOT: &str = "\x1bc\x1b[?7l\x1b[2JSeaBIOS (version rel-1.16.3-0-ga6ed6b701f0a-prebuilt.qemu.org)\r\n\
    Booting from Hard Disk...\r\n\x1b[?7h\x1b[2J\x1b[H\
    [    0.000000] Linux version 6.12.48-haos (builder@haos) (gcc 13.4.0) #1 SMP PREEMPT_DYNAMIC\r\n\
    [    0.000000] Command line: root=PARTUUID=8d3d53e3 ro console=ttyS0 console=tty0\r\n\
    [    1.214083] EXT4-fs (sda8): recovering journal\r\n\
    [    1.377201] EXT4-fs (sda8): mounted filesystem with ordered data mode\r\n\
    [\x1b[0;32m  OK  \x1b[0m] Started \x1b[0;1;39mDocker Application Container Engine\x1b[0m.\r\n\
    [\x1b[0;1;31mFAILED\x1b[0m] Failed to start \x1b[0;1;39mBluetooth service\x1b[0m.\r\n\
    [\x1b[0;32m  OK  \x1b[0m] Reached target \x1b[0;1;39mMulti-User System\x1b[0m.\r\n\
    \r\nWelcome to Home Assistant\r\nhomeassistant login: ";

const PANIC: &str = "[   42.118201] VFS: Cannot open root device \"UUID=0f3a\" or unknown-block(0,0): error -6\r\n\
    [   42.118377] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\r\n\
    [   42.118512] CPU: 3 UID: 0 PID: 1 Comm: swapper/0 Not tainted 6.12.48+deb13-amd64 #1\r\n\
    [   42.119004] ---[ end Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0) ]---\r\n";

const TOP: &str = "\x1b[?1049h\x1b[2J\x1b[1;1H\x1b[1mtop - 08:14:02 up 23 days, load average: 0.41, 0.38, 0.35\x1b[m\
    \x1b[2;1HTasks:  31 total,   1 running,  30 sleeping\x1b[4;1H\x1b[7m  PID USER      %CPU  %MEM COMMAND            \x1b[m\
    \x1b[5;1H  211 prometh+   8.6  51.2 prometheus\x1b[6;1H  188 root       0.3   0.4 systemd-journald\x1b[?25l";

/// The password of everybody on the consoles of the demo.
const PASSWORD: &str = "simulated";

/// What a Debian writes to its serial port from the firmware on, until somebody can log in.
const BOOT_OF_MAIL: [&str; 5] = [
    "\x1bc\x1b[?7l\x1b[2JSeaBIOS (version rel-1.16.3-0-ga6ed6b701f0a-prebuilt.qemu.org)\r\nBooting from Hard Disk...\r\n\x1b[?7h",
    "GRUB loading.\r\nWelcome to GRUB!\r\n\r\nLoading Linux 6.12.48+deb13-amd64 ...\r\nLoading initial ramdisk ...\r\n",
    "[    0.000000] Linux version 6.12.48+deb13-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC\r\n\
     [    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz root=UUID=0f3a ro console=ttyS0\r\n",
    "fsck from util-linux 2.41\r\n/dev/sda1: recovering journal\r\n/dev/sda1: clean, 38211/2097152 files, 812394/8388608 blocks\r\n",
    "[\x1b[0;32m  OK  \x1b[0m] Reached target \x1b[0;1;39mMulti-User System\x1b[0m.\r\n\r\nDebian GNU/Linux 13\r\n",
];

fn booting(program: Program, boot: [&'static str; 5]) -> Terminal {
    let boots = boot.map(Into::into).to_vec();
    Terminal { boots, ..Terminal::running(program) }
}

/// A text screen at which somebody can log in.
fn typed_on(lines: &[&str], host: &str) -> Screen {
    Screen { program: Some(Program::login(host, PASSWORD)), ..Screen::of(lines) }
}

/// Gives the guests their terminals and screens.
pub(super) fn give(demo: &mut Cluster) {
    for guest in demo.guests.iter_mut().filter(|guest| guest.kind == Kind::Lxc) {
        let name = guest.name.clone().unwrap_or_default();
        // A container's tty is cleared for whoever comes, and says nothing before an Enter (recorded).
        guest.terminal = Terminal::running(Program::login(&name, PASSWORD));
        guest.terminal.says = vec!["\x1b[H\x1b[J".into()];
        guest.screen = Screen::of(&["", &format!("{name} login: ")]);
    }
    let terminals = [
        (110, booting(Program::login("mail", PASSWORD), BOOT_OF_MAIL)),
        (111, booting(Program::shell("postgres", "root"), BOOT_OF_MAIL)),
        (121, Terminal::saying(PANIC)),
        (130, Terminal::saying(BOOT)),
        (202, Terminal::saying(TOP)),
    ];
    for (vmid, terminal) in terminals {
        if let Some(guest) = demo.guest_mut(vmid) {
            guest.serial = guest.kind == Kind::Qemu;
            guest.terminal = terminal;
        }
    }
    let windows = ["", "", "   Press Ctrl+Alt+Delete to unlock.", "", "   08:14"];
    let panic = ["Kernel panic - not syncing:", "VFS: Unable to mount root fs"];
    let screens = [
        (100, Screen { moves: true, ..Screen::of(&windows) }),
        (110, typed_on(&["Debian GNU/Linux 13 mail tty1", ""], "mail")),
        (112, typed_on(&["Debian GNU/Linux 13 webshop tty1", ""], "webshop")),
        (111, typed_on(&["Debian GNU/Linux 13 postgres tty1", ""], "postgres")),
        (121, Screen::of(&panic)),
        (130, Screen::of(&["Welcome to Home Assistant", "", "homeassistant login: "])),
    ];
    for (vmid, screen) in screens {
        if let Some(guest) = demo.guest_mut(vmid) {
            guest.screen = screen;
        }
    }
}
