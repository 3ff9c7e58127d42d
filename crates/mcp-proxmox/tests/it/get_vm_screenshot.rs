//! Tests of `get_vm_screenshot`.

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::tz::TimeZone;
use mcp_proxmox::{
    call::Call,
    catalog::{ALL, Catalog},
    tier::{Access, Level},
};
use pve_client::{GuestRef, Kind, Reader, VmId, console::ConsoleProblem};
use pve_sim::{
    DEMO_AUDITOR_ID, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Recordings, Screen, ScreenFault, Sim, State,
    Version,
};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::get_vm_console::until_nothing_is_open;
use crate::support::{access, call, call_on, demo, failed, failure, server, settings, text};

const TOOL: &str = "get_vm_screenshot";
const OPERATOR: &str = "ops@pve!rw";
/// What the recorded screen shows, as the tool made a picture of it. Somebody has read the words on it:
/// the firmware, a VM that is ready, a shell, a prompt. `UPDATE_DOCS=1` makes it anew; then read them again.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/recorded_screen.png");

/// A picture that was decoded.
pub struct Seen {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
    bytes: usize,
    png: Vec<u8>,
    text: String,
}

/// Width, height and pixels of a PNG.
fn decoded(png: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    (info.width, info.height, rgb)
}

pub fn seen(result: &CallToolResult) -> Seen {
    assert_ne!(result.is_error, Some(true), "{}", text(result));
    assert!(result.structured_content.is_none());
    let image = result.content.iter().find_map(|block| block.as_image()).expect("a picture");
    assert_eq!(image.mime_type, "image/png");
    let bytes = STANDARD.decode(&image.data).unwrap();
    let (width, height, rgb) = decoded(&bytes);
    let text = text(result);
    assert!(!text.contains(&image.data[..40]), "no base64 in the text");
    Seen { width, height, rgb, bytes: bytes.len(), png: bytes, text }
}

impl Seen {
    /// The share of pixels that are not of the most frequent colour, black.
    pub fn lit(&self) -> usize {
        self.rgb.chunks(3).filter(|pixel| *pixel != [0, 0, 0]).count()
    }

    /// The pixels without those of one cell of 9 x 16.
    fn without_cell(&self, column: usize, row: usize) -> Vec<&[u8]> {
        let is_in = |at: usize| {
            let (x, y) = (at % self.width as usize, at / self.width as usize);
            x / 9 == column && y / 16 == row
        };
        self.rgb.chunks(3).enumerate().filter(|(at, _)| !is_in(*at)).map(|(_, rgb)| rgb).collect()
    }
}

fn vm(node: &str, vmid: u32) -> GuestRef {
    let vmid = VmId::try_from(vmid).unwrap();
    GuestRef { node: node.parse().unwrap(), kind: Kind::Qemu, vmid }
}

async fn call_as(sim: &Sim, token: &str, arguments: Value) -> CallToolResult {
    let reader = Reader::new(settings(sim, token, DEMO_TOKEN_SECRET));
    call_on(server(Access::new(Level::Read, reader)), TOOL, arguments).await
}

async fn replayed(session: &str, vm: &str) -> Seen {
    let sim = Sim::replay(Recordings::load().with_session(session)).await.unwrap();
    seen(&call_as(&sim, OPERATOR, json!({ "vm": vm })).await)
}

#[tokio::test]
async fn the_recorded_screen_is_the_same_plain_and_packed_in_two_ways() {
    let plain = replayed("vnc-vm-raw", "100").await;
    let packed = replayed("vnc-vm-zrle", "100").await;
    for screen in [&plain, &packed] {
        assert_eq!((screen.width, screen.height), (720, 400));
        // Some lines of grey letters on black.
        assert!((2_000..40_000).contains(&screen.lit()), "{}", screen.lit());
        assert!(screen.bytes < 20_000, "{}", screen.bytes);
        assert!(
            screen.text.contains("720 x 400 pixels") && screen.text.contains("QEMU (web01)"),
            "{}",
            screen.text
        );
    }
    let tight = replayed("vnc-vm-tight", "100").await;
    assert_eq!((tight.width, tight.height), (720, 400));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(RECORDED, &plain.png).unwrap();
    }
    let png = std::fs::read(RECORDED).unwrap();
    let (width, height, rgb) = decoded(&png);
    let kept = Seen { width, height, rgb, bytes: png.len(), png, text: String::new() };
    assert_eq!((kept.width, kept.height), (720, 400));
    for (way, screen) in [("raw", &plain), ("zrle", &packed), ("tight", &tight)] {
        // A cursor blinks behind the prompt.
        assert!(screen.without_cell(4, 9) == kept.without_cell(4, 9), "{way}: another picture");
    }
}

#[tokio::test]
async fn the_state_of_the_guest_is_said_and_a_vm_that_stands_still_is_not_guessed_about() {
    let sim = demo().await;
    let paused = seen(&call(&sim, TOOL, json!({ "vm": "win11-test" })).await).text;
    assert!(paused.contains("`win11-test` (122), paused on pve2"), "{paused}");
    assert!(paused.contains("the VM is paused: nothing moves until it is resumed"), "{paused}");
    let running = seen(&call(&sim, TOOL, json!({ "vm": "postgres" })).await).text;
    assert!(running.contains("`postgres` (111), running on pve3"), "{running}");
    assert!(!running.contains("nothing moves"), "{running}");
    let container = seen(&call(&sim, TOOL, json!({ "vm": "pihole" })).await).text;
    assert!(container.contains(", running on "), "{container}");
    sim.change(|cluster| cluster.guest_mut(111).unwrap().screen = Screen::default());
    let blank = seen(&call(&sim, TOOL, json!({ "vm": 111 })).await).text;
    assert!(blank.contains("in standby"), "{blank}");
    sim.change(|cluster| cluster.guest_mut(111).unwrap().state = State::IoError);
    let broken = seen(&call(&sim, TOOL, json!({ "vm": 111 })).await).text;
    assert!(broken.contains("one colour (black)") && !broken.contains("in standby"), "{broken}");
    assert!(broken.contains("the VM is paused (io-error)"), "{broken}");
}

#[tokio::test]
async fn a_plain_wide_screen_comes_at_the_usual_width() {
    let sim = demo().await;
    sim.change(|cluster| {
        let wide = Screen { width: 1600, height: 900, ..Screen::of(&["a line of text"]) };
        cluster.guest_mut(111).unwrap().screen = wide;
    });
    let screen = seen(&call(&sim, TOOL, json!({ "vm": 111 })).await);
    assert_eq!((screen.width, screen.height), (1024, 576));
    assert!(screen.text.contains("1600 x 900 pixels, shown at 1024 x 576"), "{}", screen.text);
}

#[tokio::test]
async fn a_mute_screen_ends_in_words_within_its_time() {
    let sim = demo().await;
    sim.change(|cluster| cluster.guest_mut(111).unwrap().screen.fault = Some(ScreenFault::Mute));
    let catalog = Catalog::new(ALL, Level::Read, |_| true);
    let mut call = Call::begin(TimeZone::UTC);
    // A call whose time is nearly over: the tool's own is cut to it.
    call.deadline = Instant::now() + Duration::from_secs(8);
    let arguments = json!({ "vm": 111 }).as_object().cloned().unwrap();
    let tool = catalog.find(TOOL).unwrap();
    let told = tool.call(&access(&sim), &call, arguments).await.unwrap_err();
    assert!(told.what().contains("could not see the screen of `postgres` (111)"), "{told:?}");
    assert!(told.what().contains("did not answer within"), "{told:?}");
    assert!(Instant::now() < call.deadline + Duration::from_secs(5));
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn a_recorded_container_is_seen_through_its_terminal() {
    let screen = replayed("vnc-ct", "200").await;
    assert_eq!((screen.width, screen.height), (744, 400));
    assert!(screen.text.contains("VNC Command Terminal"), "{}", screen.text);
    // Two letters and the cursor.
    assert_eq!(screen.lit(), 100);
    let screen = replayed("vnc-vm-serial-display", "101").await;
    assert_eq!((screen.width, screen.height), (744, 400));
    assert_eq!(screen.lit(), 31, "nothing but the cursor");
}

#[tokio::test]
async fn a_screen_is_seen_with_every_version() {
    for version in [Version::v8_4(), Version::v9_0(), Version::v9_2()] {
        let sim = demo().await;
        sim.change(|cluster| cluster.version = version);
        let screen = seen(&call(&sim, TOOL, json!({ "vm": "postgres" })).await);
        assert_eq!((screen.width, screen.height), (720, 400));
        assert!(screen.lit() > 500);
        let container = seen(&call(&sim, TOOL, json!({ "vm": "pihole" })).await);
        assert!(container.lit() > 100);
    }
}

#[tokio::test]
async fn a_blank_screen_is_said_in_words() {
    let sim = demo().await;
    let screen = seen(&call(&sim, TOOL, json!({ "vm": "erp" })).await);
    assert!(screen.text.contains("one colour (black)"), "{}", screen.text);
}

#[tokio::test]
async fn a_photograph_is_made_small_enough() {
    let sim = demo().await;
    sim.change(|cluster| {
        let noise = Screen { width: 1600, height: 900, noise: true, ..Screen::default() };
        cluster.guest_mut(111).unwrap().screen = noise;
    });
    let screen = seen(&call(&sim, TOOL, json!({ "vm": 111 })).await);
    assert!(screen.bytes <= 500_000, "{}", screen.bytes);
    assert!(screen.text.contains("1600 x 900 pixels, shown at"), "{}", screen.text);
    let part = seen(&call(&sim, TOOL, json!({ "vm": 111, "crop": "100,100,64,32" })).await);
    assert_eq!((part.width, part.height), (64, 32));
    let narrow = seen(&call(&sim, TOOL, json!({ "vm": 111, "max_width": 320 })).await);
    assert_eq!((narrow.width, narrow.height), (320, 180));
}

#[tokio::test]
async fn a_change_is_waited_for() {
    let sim = demo().await;
    let moving = json!({ "vm": "dc01", "wait_change_seconds": 10 });
    let screen = seen(&call(&sim, TOOL, moving).await);
    assert!(screen.text.contains("after the next change"), "{}", screen.text);
    // The counter that moves stands below.
    let above = json!({ "vm": "dc01", "wait_change_seconds": 1, "crop": "0,0,720,64" });
    let part = seen(&call(&sim, TOOL, above).await);
    assert!(part.text.contains("nothing in this part changed within 1 s"), "{}", part.text);
    let still = json!({ "vm": "postgres", "wait_change_seconds": 1 });
    let screen = seen(&call(&sim, TOOL, still).await);
    assert!(screen.text.contains("nothing on it changed within 1 s"), "{}", screen.text);
}

#[tokio::test]
async fn a_screen_that_claims_to_be_huge_takes_no_memory() {
    let sim = demo().await;
    sim.change(|cluster| {
        cluster.guest_mut(111).unwrap().screen.claims = Some((65_535, 65_535));
    });
    let told = failure(&sim, TOOL, json!({ "vm": 111 })).await;
    assert!(told.contains("65535 x 65535"), "{told}");
}

#[tokio::test]
async fn what_cannot_be_seen_is_told_in_words() {
    let sim = demo().await;
    let told = failure(&sim, TOOL, json!({ "vm": "staging-webshop" })).await;
    assert!(told.contains("does not run"), "{told}");
    let told = failed(&call_as(&sim, DEMO_AUDITOR_ID, json!({ "vm": "mail" })).await);
    assert!(told.contains("VM.Console on /vms/110"), "{told}");
    sim.forget_requests();
    let alone = json!({ "vm": "homeassistant" });
    let told = failed(&call_as(&sim, DEMO_AUDITOR_ID, alone).await);
    assert!(told.contains("VM.Console on /vms/130"), "{told}");
    assert!(sim.requests().iter().all(|seen| seen.method == "GET"), "a screen was asked for");
    for crop in ["1,2,3", "a", "9000,0,1,1"] {
        let told = failure(&sim, TOOL, json!({ "vm": "mail", "crop": crop })).await;
        assert!(told.contains("`crop`"), "{told}");
    }
}

#[tokio::test]
async fn nobody_who_looks_is_thrown_out() {
    let sim = demo().await;
    let reader = Reader::new(settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
    let guest = vm("pve1", 100);
    let mut first = reader.watch_screen(&guest).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    first.look(deadline).await.unwrap();
    // The simulated server ends a connection that does not want to share.
    seen(&call(&sim, TOOL, json!({ "vm": 100 })).await);
    let again = first.look(deadline).await.expect("the first one still looks");
    assert_eq!((again.width, again.height), (720, 400));
    first.close().await;
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn whatever_a_screen_does_is_answered_and_nothing_is_left_open() {
    for (fault, expected) in [
        (ScreenFault::Full, "too many viewers"),
        (ScreenFault::CutInPicture, "ended before anything of use came"),
        (ScreenFault::Garbage, "could not be understood"),
        (ScreenFault::Outside, "a part outside of the screen"),
        (ScreenFault::Grows, "65535 x 65535"),
        (ScreenFault::Clipboard, "a part of a message that is too large"),
    ] {
        let sim = demo().await;
        sim.change(|cluster| cluster.guest_mut(111).unwrap().screen.fault = Some(fault));
        let told = failure(&sim, TOOL, json!({ "vm": 111 })).await;
        assert!(told.contains(expected), "{fault:?}: {told}");
        until_nothing_is_open(&sim).await;
    }
}

#[tokio::test]
async fn a_screen_of_which_nothing_comes_is_not_waited_for_for_ever() {
    for fault in [ScreenFault::Mute, ScreenFault::Empty] {
        let sim = demo().await;
        sim.change(|cluster| cluster.guest_mut(100).unwrap().screen.fault = Some(fault));
        let reader = Reader::new(settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
        let guest = vm("pve1", 100);
        let mut screen = reader.watch_screen(&guest).await.unwrap();
        let looked = screen.look(Instant::now() + Duration::from_millis(300)).await;
        assert!(matches!(looked, Err(ConsoleProblem::TimedOut(_))), "{fault:?}: {looked:?}");
        drop(screen);
        until_nothing_is_open(&sim).await;
    }
}

#[tokio::test]
async fn what_somebody_types_is_a_change_that_is_waited_for() {
    let sim = demo().await;
    let reader = Reader::new(settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
    let mut screen = reader.watch_screen(&vm("pve3", 111)).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let before = screen.look(deadline).await.unwrap();
    let still = screen.change(&before, Instant::now() + Duration::from_millis(200)).await;
    assert_eq!(still.unwrap(), None);
    let arguments = json!({ "vm": 111, "text": "x" });
    let (changed, sent) = tokio::join!(
        screen.change(&before, deadline),
        crate::power::answer(&sim, "send_vm_keys", arguments)
    );
    assert_eq!(sent["outcome"], "sent");
    assert!(changed.unwrap().is_some(), "the letter is seen by who looks");
    screen.close().await;
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn nothing_is_left_open() {
    let sim = demo().await;
    seen(&call_as(&sim, DEMO_TOKEN_ID, json!({ "vm": "mail" })).await);
    until_nothing_is_open(&sim).await;
}
