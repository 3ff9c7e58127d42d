//! A VNC server: RFB 3.8 with VNC authentication, as QEMU and as vncterm speak it.
//!
//! QEMU writes pixels of 32 bits and packs them where the client takes ZRLE; vncterm writes numbers
//! of colours, and never packs (recorded).

use des::{
    Des,
    cipher::{Block, BlockCipherEncrypt as _, KeyInit as _},
};
use flate2::{Compress, Compression, FlushCompress};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{display::Display, font, socket::Socket};
use crate::cluster::{Screen, ScreenFault};

/// The size of one character on the screen.
const CELL: (usize, usize) = (9, 16);

/// The colours that are used: background, text, and two for the rest.
const COLOURS: [[u8; 3]; 4] = [[0, 0, 0], [170, 170, 170], [0, 0, 170], [255, 255, 85]];

/// What goes on in one connection.
struct Painter {
    screen: Screen,
    is_vncterm: bool,
    packs: bool,
    packer: Compress,
    /// How often changes were asked for.
    beats: u32,
    /// What the program of the guest has written.
    written: Vec<String>,
}

/// Serves a screen until one side ends it.
pub(super) async fn serve<S>(
    socket: &mut Socket<S>,
    screen: Screen,
    password: &str,
    name: &str,
    is_vncterm: bool,
    display: Display<'_>,
) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    socket.send(b"RFB 003.008\n").await?;
    if &socket.take(12).await?[..] != b"RFB 003.008\n" {
        return None;
    }
    if screen.fault == Some(ScreenFault::Full) {
        return socket.send(b"\0\0\0\0\x10too many viewers").await;
    }
    socket.send(&[1, 2]).await?;
    if socket.take(1).await?.first() != Some(&2) {
        return None;
    }
    let challenge = super::random(16);
    socket.send(challenge.as_bytes()).await?;
    if socket.take(16).await?[..] != encrypted(password, challenge.as_bytes())[..] {
        socket.send(b"\0\0\0\x01\0\0\0\x15Authentication failed").await?;
        return None;
    }
    socket.send(&[0; 4]).await?;
    // Whoever does not share throws the others out: that must never happen.
    if socket.take(1).await?.first() != Some(&1) {
        return None;
    }
    let (width, height) = screen.claims.unwrap_or((screen.width, screen.height));
    let mut hello = Vec::new();
    hello.extend_from_slice(&width.to_be_bytes());
    hello.extend_from_slice(&height.to_be_bytes());
    hello.extend_from_slice(if is_vncterm {
        &[8, 8, 0, 0, 0, 7, 0, 7, 0, 3, 0, 3, 6, 0, 0, 0]
    } else {
        &[32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0]
    });
    hello.extend_from_slice(&u32::try_from(name.len()).unwrap_or_default().to_be_bytes());
    hello.extend_from_slice(name.as_bytes());
    socket.send(&hello).await?;
    let packer = Compress::new(Compression::fast(), true);
    let mut painter =
        Painter { screen, is_vncterm, packs: false, packer, beats: 0, written: Vec::new() };
    if is_vncterm {
        let mut map = vec![1, 0, 0, 0, 0, 4];
        // vncterm fills only the second of the two bytes that RFB has for each (recorded).
        map.extend(COLOURS.iter().flatten().flat_map(|level| [0, *level]));
        socket.send(&map).await?;
    }
    let program = painter.screen.program.clone();
    let mut shown = None;
    // Whether the client waits for the next change.
    let mut waits = false;
    loop {
        let drawn = display.shared.drawn.notified();
        let (written, version) = display.written(program.as_ref());
        if waits && shown.is_some_and(|shown| shown != version) {
            (painter.written, shown, waits) = (written, Some(version), false);
            send(socket, &painter.update()).await?;
            continue;
        }
        let kind = tokio::select! {
            biased;
            kind = socket.take(1) => kind?,
            () = drawn => continue,
        };
        match kind.first()? {
            0 => drop(socket.take(19).await?),
            2 => {
                let head = socket.take(3).await?;
                let count = head
                    .get(1..)
                    .map_or(0, |two| two.iter().fold(0, |n, b| n << 8 | usize::from(*b)));
                let encodings = socket.take(count * 4).await?;
                painter.packs = !is_vncterm && encodings.chunks(4).any(|one| one == [0, 0, 0, 16]);
            }
            3 => {
                let changes_only = socket.take(9).await?.first() == Some(&1);
                let (written, version) = display.written(program.as_ref());
                if changes_only && !painter.screen.moves && shown == Some(version) {
                    waits = true;
                    continue;
                }
                painter.beats += u32::from(changes_only);
                (painter.written, shown, waits) = (written, Some(version), false);
                match painter.screen.fault {
                    Some(fault) => broken(socket, fault, &painter.update()).await?,
                    None => send(socket, &painter.update()).await?,
                }
            }
            4 => {
                let key = socket.take(7).await?;
                let (down, number) = (key.first() == Some(&1), key.iter().skip(3));
                let number = number.fold(0, |number, byte| number << 8 | u32::from(*byte));
                display.key(number, down, program.as_ref())?;
            }
            5 => drop(socket.take(5).await?),
            _ => return None,
        }
    }
}

/// QEMU sends what it has in pieces of any size.
async fn send<S>(socket: &mut Socket<S>, update: &[u8]) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for piece in update.chunks(100_000) {
        socket.send(piece).await?;
    }
    Some(())
}

/// What comes instead of a picture.
async fn broken<S>(socket: &mut Socket<S>, fault: ScreenFault, update: &[u8]) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match fault {
        ScreenFault::Full | ScreenFault::Mute => {}
        ScreenFault::CutInPicture => {
            let half = update.get(..update.len() / 2)?;
            socket.send(half).await?;
            socket.send_raw(&[0x82, 100, 7]).await?;
            return None;
        }
        ScreenFault::Garbage => socket.send(&[0xa5; 64]).await?,
        ScreenFault::Outside => {
            socket.send(&[0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 9, 0, 9, 0, 0, 0, 0]).await?;
        }
        // The pseudo encoding -223 says that the screen has another size.
        ScreenFault::Grows => {
            let size = [0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x21];
            socket.send(&size).await?;
        }
        ScreenFault::Empty => loop {
            socket.send(&[0, 0, 0, 0]).await?;
        },
        ScreenFault::Clipboard => {
            socket.send(&[3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]).await?;
        }
    }
    Some(())
}

impl Painter {
    /// One update of the whole screen.
    fn update(&mut self) -> Vec<u8> {
        let (width, height) = (self.screen.width, self.screen.height);
        let colours = self.colours();
        let mut update = vec![0, 0, 0, 1, 0, 0, 0, 0];
        update.extend_from_slice(&width.to_be_bytes());
        update.extend_from_slice(&height.to_be_bytes());
        if self.packs {
            update.extend_from_slice(&16u32.to_be_bytes());
            let plain = tiles(&colours, width.into(), height.into());
            let mut packed = Vec::with_capacity(plain.len() + plain.len() / 8 + 1024);
            // There is room for everything, so that one call does it.
            let _ = self.packer.compress_vec(&plain, &mut packed, FlushCompress::Sync);
            update.extend_from_slice(&u32::try_from(packed.len()).unwrap_or(0).to_be_bytes());
            update.extend_from_slice(&packed);
        } else {
            update.extend_from_slice(&0u32.to_be_bytes());
            for colour in &colours {
                if self.is_vncterm {
                    update.push(number(*colour));
                } else {
                    update.extend_from_slice(&[colour[2], colour[1], colour[0], 0]);
                }
            }
        }
        update
    }

    /// The colour of each pixel.
    fn colours(&self) -> Vec<[u8; 3]> {
        let (width, height) = (usize::from(self.screen.width), usize::from(self.screen.height));
        let mut lines = self.screen.lines.clone();
        lines.extend(self.written.iter().cloned());
        if self.screen.moves {
            lines.push(format!("{}", self.beats));
        }
        let lit = |x: usize, y: usize| {
            let character = lines.get(y / CELL.1)?.chars().nth(x / CELL.0)?;
            let (x, y) = ((x % CELL.0).checked_sub(2)?, (y % CELL.1).checked_sub(1)? / 2);
            let row = *font::glyph(character).get(y)?;
            (x < 5 && row >> (4 - x) & 1 == 1).then_some(())
        };
        let pixel = |nth: usize| {
            let (x, y) = (nth % width, nth / width);
            if lit(x, y).is_some() {
                COLOURS[1]
            } else if self.screen.noise {
                let nth = u32::try_from(nth).unwrap_or_default();
                let mixed = nth.wrapping_mul(2_654_435_761) ^ (nth >> 7);
                let [red, green, blue, _] = mixed.wrapping_mul(2_246_822_519).to_be_bytes();
                [red, green, blue]
            } else {
                COLOURS[0]
            }
        };
        (0..width * height).map(pixel).collect()
    }
}

fn number(colour: [u8; 3]) -> u8 {
    let nth = COLOURS.iter().position(|known| *known == colour).unwrap_or_default();
    u8::try_from(nth).unwrap_or_default()
}

/// The tiles of ZRLE: of one colour, of two, or plain.
fn tiles(colours: &[[u8; 3]], width: usize, height: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    let sent = |colour: &[u8; 3]| [colour[2], colour[1], colour[0]];
    for top in (0..height).step_by(64) {
        for left in (0..width).step_by(64) {
            let rows: Vec<&[[u8; 3]]> = (top..(top + 64).min(height))
                .filter_map(|y| colours.get(y * width + left..y * width + (left + 64).min(width)))
                .collect();
            let mut palette: Vec<[u8; 3]> = Vec::new();
            for colour in rows.iter().flat_map(|row| row.iter()) {
                if !palette.contains(colour) && palette.len() < 3 {
                    palette.push(*colour);
                }
            }
            match palette.as_slice() {
                [only] => {
                    plain.push(1);
                    plain.extend(sent(only));
                }
                [first, second] => {
                    plain.push(2);
                    plain.extend(sent(first));
                    plain.extend(sent(second));
                    for eight in rows.iter().flat_map(|row| row.chunks(8)) {
                        let bits = eight.iter().enumerate();
                        let byte = bits
                            .map(|(nth, colour)| u8::from(colour == second) << (7 - nth))
                            .fold(0, |byte, bit| byte | bit);
                        plain.push(byte);
                    }
                }
                _ => {
                    plain.push(0);
                    plain.extend(rows.iter().flat_map(|row| row.iter()).flat_map(sent));
                }
            }
        }
    }
    plain
}

/// The challenge as whoever knows the password encrypts it: DES, the bits of each byte of the key in
/// reverse.
fn encrypted(password: &str, challenge: &[u8]) -> Vec<u8> {
    let mut key = [0; 8];
    key.iter_mut().zip(password.bytes()).for_each(|(slot, byte)| *slot = byte.reverse_bits());
    let des = Des::new(&key.into());
    let block = |eight: &[u8]| {
        let mut block = Block::<Des>::default();
        block.copy_from_slice(eight);
        des.encrypt_block(&mut block);
        block
    };
    challenge.chunks_exact(8).flat_map(block).collect()
}
