//! A screen through `vncproxy`: RFB 3.8 with VNC authentication.
//!
//! QEMU and vncterm (the terminal of a container, or of a VM whose display is its serial port) speak
//! it differently: QEMU has 32 bits a pixel and several encodings, vncterm eight bits, a map of
//! colours and nothing packed (recorded from PVE 9.2.11).
//!
//! **Invariant:** the connection is shared, so that nobody who looks at the screen is thrown out.

use tokio::time::{Instant, timeout_at};

use super::{
    ConsoleProblem, des,
    frame::Socket,
    pixels::{Canvas, Format},
    stream::Stream,
    tight::Tight,
    zrle::Zrle,
};

const RAW: i32 = 0;
const TIGHT: i32 = 7;
const ZRLE: i32 = 16;
/// The server says that the screen has another size now.
const DESKTOP_SIZE: i32 = -223;

/// 32 bits a pixel, as QEMU has it anyway: blue, green, red and one byte that says nothing.
const COLOURED: [u8; 16] = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0];

/// The longest text of a server that is kept.
const TEXT: usize = 200;

/// A screen that is watched. It takes neither keys nor clicks.
pub struct WatchedScreen {
    stream: Stream,
    name: String,
    format: Format,
    canvas: Canvas,
    zrle: Zrle,
    tight: Tight,
}

/// What a screen showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screenshot {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Red, green and blue of each pixel, row by row.
    pub rgb: Vec<u8>,
}

impl WatchedScreen {
    pub(super) async fn begin(
        socket: Socket,
        password: &str,
        deadline: Instant,
    ) -> Result<Self, ConsoleProblem> {
        let began = Instant::now();
        let beginning = Self::greet(Stream::new(socket), password);
        timeout_at(deadline, beginning)
            .await
            .unwrap_or_else(|_| Err(ConsoleProblem::TimedOut(began.elapsed())))
    }

    /// What the server calls itself: `QEMU (web01)`, `VNC Command Terminal`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole screen as it is now.
    pub async fn look(&mut self, deadline: Instant) -> Result<Screenshot, ConsoleProblem> {
        let began = Instant::now();
        let looking = async {
            self.ask(false).await?;
            let mut painted = 0;
            loop {
                match self.message().await? {
                    Painted::Nothing => {}
                    Painted::Pixels(pixels) => painted += pixels,
                    // What was painted before is of another size.
                    Painted::Resized => {
                        painted = 0;
                        self.ask(false).await?;
                    }
                }
                if painted >= u64::from(self.canvas.width) * u64::from(self.canvas.height) {
                    return Ok(());
                }
            }
        };
        timeout_at(deadline, looking)
            .await
            .unwrap_or_else(|_| Err(ConsoleProblem::TimedOut(began.elapsed())))?;
        Ok(self.shot())
    }

    /// Waits until something on the screen has changed from what `before` shows. `None` when nothing
    /// has.
    pub async fn change(
        &mut self,
        before: &Screenshot,
        deadline: Instant,
    ) -> Result<Option<Screenshot>, ConsoleProblem> {
        let waiting = async {
            loop {
                self.ask(true).await?;
                while matches!(self.message().await?, Painted::Nothing) {}
                let is_same = (self.canvas.width, self.canvas.height)
                    == (before.width, before.height)
                    && self.canvas.rgb == before.rgb;
                if !is_same {
                    return Ok(());
                }
            }
        };
        match timeout_at(deadline, waiting).await {
            Ok(changed) => changed.map(|()| Some(self.shot())),
            Err(_) => Ok(None),
        }
    }

    /// Ends it in order.
    pub async fn close(self) {
        self.stream.socket.close().await;
    }

    async fn greet(mut stream: Stream, password: &str) -> Result<Self, ConsoleProblem> {
        let version = stream.take(12).await?;
        if !version.starts_with(b"RFB 003.00") && !version.starts_with(b"RFB 004.") {
            return Err(ConsoleProblem::Garbage("it does not begin as RFB does"));
        }
        stream.socket.send(b"RFB 003.008\n").await?;
        let kinds = stream.u8().await?;
        if kinds == 0 {
            return Err(ConsoleProblem::Refused(text(&mut stream).await?));
        }
        let kinds = stream.take(kinds.into()).await?;
        if kinds.contains(&2) {
            stream.socket.send(&[2]).await?;
            let challenge = stream.take(16).await?;
            stream.socket.send(&des::respond(password, &challenge)).await?;
        } else if kinds.contains(&1) {
            stream.socket.send(&[1]).await?;
        } else {
            return Err(ConsoleProblem::Garbage("it wants another authentication than VNC's"));
        }
        if stream.u32().await? != 0 {
            return Err(ConsoleProblem::Refused(text(&mut stream).await?));
        }
        // Shared: whoever looks already goes on looking.
        stream.socket.send(&[1]).await?;
        let (width, height) = (stream.u16().await?, stream.u16().await?);
        let format = Format::read(&stream.take(16).await?)?;
        let name = text(&mut stream).await?;
        let canvas = Canvas::new(width.into(), height.into())?;
        let (zrle, tight) = (Zrle::new(), Tight::new());
        let mut screen = Self { stream, name, format, canvas, zrle, tight };
        screen.choose_format().await?;
        screen.choose_encodings().await?;
        Ok(screen)
    }

    /// Chooses how pixels are written, as the web interface does: some servers wait for that. A server
    /// with a map of colours keeps its own way, which it does best.
    async fn choose_format(&mut self) -> Result<(), ConsoleProblem> {
        if self.format.is_mapped() {
            return Ok(());
        }
        self.format = Format::read(&COLOURED)?;
        self.stream.socket.send(&[&[0; 4], &COLOURED[..]].concat()).await
    }

    async fn choose_encodings(&mut self) -> Result<(), ConsoleProblem> {
        // The kind of message, padding, how many there are.
        let mut message = vec![2, 0, 0, 4];
        let encodings = [ZRLE, TIGHT, RAW, DESKTOP_SIZE];
        message.extend(encodings.iter().flat_map(|encoding| encoding.to_be_bytes()));
        self.stream.socket.send(&message).await
    }

    /// Sends messages as they are. For what can be typed into; see `typing`.
    pub(super) async fn send_message(&mut self, message: &[u8]) -> Result<(), ConsoleProblem> {
        self.stream.socket.send(message).await
    }

    /// Waits for the answer to a question that is put now, before which everything else was taken.
    pub(super) async fn settle(&mut self, deadline: Instant) -> Result<(), ConsoleProblem> {
        let began = Instant::now();
        let settling = async {
            // The corner of the screen, whatever is there.
            self.stream.socket.send(&[3, 0, 0, 0, 0, 0, 0, 1, 0, 1]).await?;
            while matches!(self.message().await?, Painted::Nothing) {}
            Ok(())
        };
        timeout_at(deadline, settling)
            .await
            .unwrap_or_else(|_| Err(ConsoleProblem::TimedOut(began.elapsed())))
    }

    /// Asks for the whole screen, or only for what changes.
    async fn ask(&mut self, changes_only: bool) -> Result<(), ConsoleProblem> {
        let mut message = vec![3, u8::from(changes_only), 0, 0, 0, 0];
        for length in [self.canvas.width, self.canvas.height] {
            message.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes());
        }
        self.stream.socket.send(&message).await
    }

    /// Reads one message.
    async fn message(&mut self) -> Result<Painted, ConsoleProblem> {
        match self.stream.u8().await? {
            0 => self.update().await,
            1 => {
                self.stream.take(1).await?;
                let (first, count) = (self.stream.u16().await?, self.stream.u16().await?);
                let sent = self.stream.take(usize::from(count) * 6).await?;
                self.format.set_map(first.into(), &sent);
                Ok(Painted::Nothing)
            }
            2 => Ok(Painted::Nothing),
            3 => {
                self.stream.take(3).await?;
                // What is on the guest's clipboard is nobody's business.
                let length = self.stream.u32().await?;
                self.stream.take(usize::try_from(length).unwrap_or(usize::MAX)).await?;
                Ok(Painted::Nothing)
            }
            _ => Err(ConsoleProblem::Garbage("a message that RFB does not have")),
        }
    }

    async fn update(&mut self) -> Result<Painted, ConsoleProblem> {
        self.stream.take(1).await?;
        let count = self.stream.u16().await?;
        let mut painted = 0;
        for _ in 0..count {
            let (x, y) = (self.stream.u16().await?, self.stream.u16().await?);
            let (width, height) = (self.stream.u16().await?, self.stream.u16().await?);
            match self.stream.i32().await? {
                DESKTOP_SIZE => {
                    self.canvas = Canvas::new(width.into(), height.into())?;
                    return Ok(Painted::Resized);
                }
                RAW => {
                    let area = self.canvas.area(x, y, width, height)?;
                    let bytes = self.format.bytes;
                    for row in 0..area.height {
                        let sent = self.stream.take(usize::from(width) * bytes).await?;
                        let colours = sent.chunks_exact(bytes).map(|one| self.format.colour(one));
                        self.canvas.paint(area, row, 0, colours);
                    }
                    painted += u64::from(area.pixels());
                }
                TIGHT => {
                    let area = self.canvas.area(x, y, width, height)?;
                    let Self { stream, canvas, format, tight, .. } = self;
                    tight.paint(stream, canvas, format, area).await?;
                    painted += u64::from(area.pixels());
                }
                ZRLE => {
                    let area = self.canvas.area(x, y, width, height)?;
                    let length = self.stream.u32().await?;
                    let packed =
                        self.stream.take(usize::try_from(length).unwrap_or(usize::MAX)).await?;
                    self.zrle.paint(&mut self.canvas, &self.format, area, &packed)?;
                    painted += u64::from(area.pixels());
                }
                _ => return Err(ConsoleProblem::Garbage("an encoding that was not asked for")),
            }
        }
        Ok(Painted::Pixels(painted))
    }

    fn shot(&self) -> Screenshot {
        let Canvas { width, height, rgb } = &self.canvas;
        Screenshot { width: *width, height: *height, rgb: rgb.clone() }
    }
}

/// What a message did to the canvas.
enum Painted {
    Nothing,
    Pixels(u64),
    Resized,
}

impl std::fmt::Debug for WatchedScreen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WatchedScreen({} x {})", self.canvas.width, self.canvas.height)
    }
}

/// A text with its length before it.
async fn text(stream: &mut Stream) -> Result<String, ConsoleProblem> {
    let length = usize::try_from(stream.u32().await?).unwrap_or(usize::MAX);
    if length > 64 << 10 {
        return Err(ConsoleProblem::Garbage("a text that is too long"));
    }
    let text = stream.take(length).await?;
    Ok(String::from_utf8_lossy(&text).chars().take(TEXT).collect())
}
