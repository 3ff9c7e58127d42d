//! Consoles on the wire: whatever comes is drawn or told, within bounds; every way to trust a server
//! leads to them; a ticket is good once.

use std::time::{Duration, Instant};

use mcp_proxmox::tier::{Access, Level};
use pve_client::{
    CaBundle, Error, GuestRef, Kind, Reader, Tls, Trust, VmId,
    console::{ConsoleProblem, Size},
};
use pve_sim::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Options, Role, Rule, Sim, Terminal, TerminalFault,
};
use serde_json::{Value, json};

use crate::{
    get_vm_console::until_nothing_is_open,
    support::{answer, call_on, demo, failure, notes, server, settings, structured},
};

const TOOL: &str = "get_vm_console";
const SIZE: Size = Size { columns: 100, rows: 30 };

fn mail() -> GuestRef {
    let vmid = VmId::try_from(110u32).unwrap();
    GuestRef { node: "pve2".parse().unwrap(), kind: Kind::Qemu, vmid }
}

fn reader(sim: &Sim) -> Reader {
    Reader::new(settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET))
}

/// What the tool shows of a terminal that says this, a frame a piece.
async fn shown(pieces: &[&[u8]]) -> Value {
    let sim = demo().await;
    sim.change(|cluster| {
        let says = pieces.iter().map(|piece| piece.to_vec().into()).collect();
        cluster.guest_mut(110).unwrap().terminal = Terminal { says, ..Terminal::default() };
    });
    let answer = answer(&sim, TOOL, json!({ "vm": 110, "listen_seconds": 1 })).await;
    until_nothing_is_open(&sim).await;
    answer
}

#[tokio::test]
async fn sequences_that_terminals_are_tested_with_are_drawn_as_a_person_sees_them() {
    let mut differing = Vec::new();
    for (what, sent, screen) in [
        ("movement", "a\x1b[3;4Hb\x1b[1Ac\x1b[2Dd\x1b[Ge", vec!["a", "e  dc", "   b"]),
        ("erasing", "12345\r\nabcde\x1b[3D\x1b[K\r\n\x1b[1;2H\x1b[1K", vec!["  345", "ab"]),
        (
            "a scrolling region",
            "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n5\x1b[r",
            vec!["1", "3", "5", "4"],
        ),
        ("inserting and deleting", "abcd\x1b[1;2H\x1b[2@x\x1b[1;6H\x1b[1P", vec!["ax bc"]),
        ("lines in and out", "1\r\n2\r\n3\x1b[2;1H\x1b[L\x1b[3;1H\x1b[M", vec!["1", "", "3"]),
        ("tabs", "\ta\tb\x1b[1;1H\x1b[3gc", vec!["c       a       b"]),
        ("a drawn box", "\x1b(0lqk\r\n\x1b(Bx", vec!["\u{250c}\u{2500}\u{2510}", "x"]),
        ("saving the cursor", "\x1b7ab\x1b8c", vec!["cb"]),
        ("reverse index", "\x1b[2;1Hb\x1b[1;1H\x1bMa", vec!["a", "", "b"]),
        ("wide letters", "\u{65e5}\u{672c}x", vec!["\u{65e5}\u{672c}x"]),
        (
            "colours and titles",
            "\x1b]0;title\x07\x1b[38;2;1;2;3;48;5;9;1;4mx\x1b[m\x1bP1$r\x1b\\y",
            vec!["xy"],
        ),
        ("repeating", "ab\x1b[3b", vec!["abbbb"]),
        ("wrapping", "\x1b[1;99Habc", vec![&format!("{}ab", " ".repeat(98)), "c"]),
    ] {
        let answer = shown(&[sent.as_bytes()]).await;
        if answer["screen"] != json!(screen) {
            differing.push(format!("{what}: {} instead of {screen:?}", answer["screen"]));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[tokio::test]
async fn characters_that_are_cut_at_the_border_of_a_frame_are_whole() {
    let text = "caf\u{e9} \u{20ac} \u{1f5a5} \u{65e5}";
    let bytes = text.as_bytes();
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(shown(&single).await["screen"], json!([text]));
    let threes: Vec<&[u8]> = bytes.chunks(3).collect();
    assert_eq!(shown(&threes).await["screen"], json!([text]));
    // A sequence that is cut is no text.
    assert_eq!(shown(&[b"a\x1b", b"[3", b"1mb"]).await["screen"], json!(["ab"]));
    let broken = shown(&[b"ok \xff\xc3", b"( \xe2\x82"]).await;
    assert_eq!(broken["screen"], json!(["ok \u{fffd}\u{fffd}("]));
}

#[tokio::test]
async fn a_megabyte_in_a_second_is_bounded_and_its_end_is_shown() {
    let sim = demo().await;
    let line = format!("{}\r\n", "\x1b[32m0123456789\x1b[m".repeat(6));
    let all: String = (0..).map(|n| format!("{n} {line}")).take(11_000).collect();
    assert!(all.len() > 1 << 20);
    sim.change(|cluster| {
        // In frames of one kilobyte, as a chatty program writes them.
        let says = all.as_bytes().chunks(1024).map(|piece| piece.to_vec().into()).collect();
        cluster.guest_mut(110).unwrap().terminal = Terminal { says, ..Terminal::default() };
    });
    let began = Instant::now();
    let arguments = json!({ "vm": 110, "listen_seconds": 20, "until_pattern": "10999 0123456789" });
    let flood = answer(&sim, TOOL, arguments).await;
    assert!(began.elapsed() < Duration::from_secs(26), "{:?}", began.elapsed());
    assert_eq!(flood["pattern_came"], true, "{}", flood["received"]);
    let n_lines =
        flood["earlier"].as_array().map_or(0, Vec::len) + flood["screen"].as_array().unwrap().len();
    assert_eq!(n_lines, 60);
    assert!(notes(&flood).contains("the last 60 lines are shown"), "{flood}");
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn a_console_that_says_nothing_is_given_up_and_let_go() {
    let sim = demo().await;
    sim.change(|cluster| {
        let fault = Some(TerminalFault::Mute);
        cluster.guest_mut(110).unwrap().terminal = Terminal { fault, ..Terminal::default() };
    });
    let reader = reader(&sim);
    let soon = tokio::time::Instant::now() + Duration::from_millis(700);
    let opened = reader.until(soon).watch_terminal(&mail(), None, SIZE).await;
    let problem = opened.unwrap_err().problem;
    assert!(matches!(problem, ConsoleProblem::TimedOut(_)), "{problem}");
    until_nothing_is_open(&sim).await;
    let told = failure(&sim, TOOL, json!({ "vm": 110 })).await;
    assert!(told.contains("did not answer within 12 s"), "{told}");
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn every_way_to_trust_a_server_leads_to_its_consoles() {
    let sim = demo().await;
    let authority = CaBundle::from_pem(sim.ca_pem().as_bytes()).unwrap();
    for trust in [Trust::Ca(authority), Trust::Anything] {
        let mut settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        settings.tls = Tls { trust, server_name: None };
        let server = || server(Access::new(Level::Read, Reader::new(settings.clone())));
        let arguments = json!({ "vm": "homeassistant", "listen_seconds": 1 });
        let answer = structured(&call_on(server(), TOOL, arguments).await);
        assert_eq!(answer["shows"][0], "login prompt");
        let seen = call_on(server(), "get_vm_screenshot", json!({ "vm": 130 })).await;
        assert!(crate::get_vm_screenshot::seen(&seen).lit() > 500);
    }
    let strange = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let pin = Trust::Pinned(vec!["ab".repeat(32).parse().unwrap()]);
    let reader =
        Reader::new(pve_client::Settings { tls: Tls { trust: pin, server_name: None }, ..strange });
    let problem = reader.watch_terminal(&mail(), None, SIZE).await.unwrap_err().problem;
    assert!(matches!(problem, ConsoleProblem::NotOpened(_)), "{problem}");
}

#[tokio::test]
async fn a_ticket_is_used_once_and_a_lost_opening_is_not_tried_again() {
    let sim = demo().await;
    let terminal = reader(&sim).watch_terminal(&mail(), None, SIZE).await.unwrap();
    let upgrade = |sim: &Sim| {
        let seen = sim.requests().into_iter().filter(|seen| seen.path.contains("/vncwebsocket"));
        seen.map(|seen| seen.path).collect::<Vec<_>>()
    };
    let used = upgrade(&sim);
    assert_eq!(used.len(), 1);
    terminal.close().await;
    until_nothing_is_open(&sim).await;
    // The ticket that PVE gives is a used one.
    let query = used[0].split_once('?').unwrap().1;
    let port = query.split('&').find_map(|pair| pair.strip_prefix("port=")).unwrap();
    let ticket = query.split('&').find_map(|pair| pair.strip_prefix("vncticket=")).unwrap();
    let ticket = percent(ticket);
    let again = json!({ "port": port, "ticket": ticket, "user": DEMO_TOKEN_ID, "upid": "UPID:pve2:00000001:00000001:6B0D1770:vncproxy:110:root@pam!demo:" });
    sim.answer(Rule::post("/nodes/pve2/qemu/110/termproxy").data(&again));
    let refused = reader(&sim).watch_terminal(&mail(), None, SIZE).await.unwrap_err();
    assert!(refused.to_string().contains("invalid PVEVNC ticket"), "{refused}");
    assert!(!refused.to_string().contains(&ticket) && !format!("{refused:?}").contains(&ticket));
    assert_eq!(upgrade(&sim).len(), 2);
    sim.forget_rules();
    sim.forget_requests();
    sim.answer(Rule::post("/nodes/pve2/qemu/110/termproxy").lost());
    let lost = reader(&sim).watch_terminal(&mail(), None, SIZE).await;
    assert!(lost.is_err());
    assert_eq!(sim.requests().len(), 1, "a POST is sent once");
}

/// A ticket that the simulator gave this token for a guest's terminal, and that nobody used: port and text.
async fn unused_ticket(sim: &Sim, token: &str, guest: &GuestRef) -> (String, String) {
    let path = format!("/nodes/{}/qemu/{}/vncwebsocket", guest.node, guest.vmid);
    sim.forget_rules();
    sim.forget_requests();
    sim.answer(Rule::get(&path).status(502, "Bad Gateway"));
    let reader = Reader::new(settings(sim, token, DEMO_TOKEN_SECRET));
    assert!(reader.watch_terminal(guest, None, SIZE).await.is_err());
    sim.forget_rules();
    let asked = sim.requests().into_iter().find(|seen| seen.path.contains("/vncwebsocket"));
    let query = asked.unwrap().path.split_once('?').unwrap().1.to_owned();
    let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)).map(percent);
    (value("port=").unwrap(), value("vncticket=").unwrap())
}

#[tokio::test]
async fn a_ticket_opens_nothing_but_the_console_for_which_its_token_got_it() {
    // However slow the machine is, they are refused for what they are and not for their age.
    let options = Options { ticket_life: Duration::from_secs(600), ..Options::default() };
    let sim = Sim::start_with(Cluster::demo(), options).await.unwrap();
    let other_token = "root@pam!other";
    sim.change(|cluster| {
        cluster.token(other_token, DEMO_TOKEN_SECRET).grant("/", "root@pam", Role::administrator());
    });
    let other_guest = GuestRef {
        node: "pve1".parse().unwrap(),
        kind: Kind::Qemu,
        vmid: VmId::try_from(130u32).unwrap(),
    };
    let own = unused_ticket(&sim, DEMO_TOKEN_ID, &mail()).await;
    let of_other_guest = unused_ticket(&sim, DEMO_TOKEN_ID, &other_guest).await;
    let of_other_token = unused_ticket(&sim, other_token, &mail()).await;
    let mut changed = own.clone();
    let last = changed.1.pop().unwrap();
    changed.1.push(if last == 'A' { 'B' } else { 'A' });
    until_nothing_is_open(&sim).await;
    let open = async |(port, ticket): &(String, String)| {
        sim.forget_rules();
        let given = json!({ "port": port, "ticket": ticket, "user": DEMO_TOKEN_ID,
            "upid": "UPID:pve2:00000001:00000001:6B0D1770:vncproxy:110:root@pam!demo:" });
        sim.answer(Rule::post("/nodes/pve2/qemu/110/termproxy").data(&given));
        reader(&sim).watch_terminal(&mail(), None, SIZE).await
    };
    for (what, ticket) in
        [("guest", &of_other_guest), ("token", &of_other_token), ("letter", &changed)]
    {
        let refused = open(ticket).await.unwrap_err();
        let ConsoleProblem::NotOpened(Error::Refused(refusal)) = &refused.problem else {
            panic!("another {what}: {refused:?}")
        };
        assert_eq!(refusal.status, 401, "another {what}");
        assert!(refused.to_string().contains("invalid PVEVNC ticket"), "another {what}: {refused}");
        until_nothing_is_open(&sim).await;
    }
    // Nothing else was wrong: the same ways let the right one in.
    open(&own).await.expect("the console that the ticket is for").close().await;
    until_nothing_is_open(&sim).await;
}

/// What a query's value was before it was encoded.
pub fn percent(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digits: Option<String> =
            (byte == b'%').then(|| rest.by_ref().take(2).map(char::from).collect());
        bytes.push(digits.map_or(byte, |digits| u8::from_str_radix(&digits, 16).unwrap()));
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn a_console_to_which_nobody_connects_ends_by_itself() {
    let options = Options { ticket_life: Duration::ZERO, ..Options::default() };
    let sim = Sim::start_with(Cluster::demo(), options).await.unwrap();
    let refused = reader(&sim).watch_terminal(&mail(), None, SIZE).await.unwrap_err();
    assert!(refused.task.is_some());
    let told = failure(&sim, TOOL, json!({ "vm": "mail" })).await;
    assert!(told.contains("its task ended with: connection timed out"), "{told}");
    let statuses = sim.change(|cluster| {
        let consoles = cluster.tasks.iter().filter(|task| task.kind == "vncproxy");
        consoles.map(|task| (task.endtime.is_some(), task.status.clone())).collect::<Vec<_>>()
    });
    assert_eq!(
        statuses,
        [(true, "connection timed out".to_owned()), (true, "connection timed out".to_owned())]
    );
}

#[tokio::test]
async fn the_serial_port_that_is_asked_for_is_the_one_that_is_shown() {
    let sim = demo().await;
    sim.change(|cluster| {
        cluster.guest_mut(110).unwrap().details.set("serial1", "socket");
    });
    let second =
        answer(&sim, TOOL, json!({ "vm": "mail", "serial": 1, "listen_seconds": 1 })).await;
    assert_eq!(second["console"], "serial1");
    let posts: Vec<String> = sim
        .requests()
        .into_iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| seen.body)
        .collect();
    assert_eq!(posts, ["serial=serial1"]);
    let container =
        answer(&sim, TOOL, json!({ "vm": "pihole", "serial": 1, "listen_seconds": 1 })).await;
    assert!(notes(&container).contains("`serial` was ignored"), "{container}");
}

#[tokio::test]
async fn a_serial_port_that_is_not_there_is_refused_with_those_that_are() {
    let sim = demo().await;
    let told = failure(&sim, TOOL, json!({ "vm": 111, "serial": 2 })).await;
    assert!(told.contains("has no serial2, only serial0"), "{told}");
    assert!(sim.requests().iter().all(|seen| seen.method == "GET"), "nothing was opened");
}
