//! Tight: rectangles of one colour, of a palette, or plain, in four zlib streams.
//!
//! A server sends JPEG only to a client that names a quality, which this one does not.
//!
//! **Invariant:** what a rectangle unpacks to is bounded by its size, whatever the stream says.

use flate2::{Decompress, FlushDecompress, Status};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    ConsoleProblem,
    pixels::{Area, Canvas, Format, Rgb},
    stream::Stream,
};

/// What is shorter is not packed.
const PLAIN: usize = 12;

/// The unpacking of one connection.
pub(super) struct Tight([Decompress; 4]);

/// How what is unpacked is written.
enum Filter {
    Plain,
    Palette(Vec<Rgb>),
    Gradient,
}

impl Tight {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Decompress::new(true)))
    }

    /// Reads a rectangle and paints it.
    pub(super) async fn paint<S>(
        &mut self,
        stream: &mut Stream<S>,
        canvas: &mut Canvas,
        format: &Format,
        area: Area,
    ) -> Result<(), ConsoleProblem>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let control = stream.u8().await?;
        for (nth, unpacking) in self.0.iter_mut().enumerate() {
            if control >> nth & 1 == 1 {
                unpacking.reset(true);
            }
        }
        let size = if format.is_plain_rgb() { 3 } else { format.bytes };
        let colour = |sent: &[u8]| match (format.is_plain_rgb(), sent) {
            (true, &[red, green, blue]) => [red, green, blue],
            _ => format.colour(sent),
        };
        match control >> 4 {
            8 => {
                let only = colour(&stream.take(size).await?);
                for row in 0..area.height {
                    canvas.paint(area, row, 0, std::iter::repeat(only));
                }
                return Ok(());
            }
            0..=7 => {}
            _ => return Err(ConsoleProblem::Garbage("a picture of a kind that was not asked for")),
        }
        let filter = if control & 0x40 == 0 {
            Filter::Plain
        } else {
            match stream.u8().await? {
                0 => Filter::Plain,
                1 => {
                    let count = usize::from(stream.u8().await?) + 1;
                    let sent = stream.take(count * size).await?;
                    Filter::Palette(sent.chunks_exact(size).map(colour).collect())
                }
                2 if format.is_plain_rgb() => Filter::Gradient,
                _ => return Err(ConsoleProblem::Garbage("a filter that does not exist")),
            }
        };
        let width = area.width as usize;
        let row = match &filter {
            Filter::Palette(colours) if colours.len() <= 2 => width.div_ceil(8),
            Filter::Palette(_) => width,
            Filter::Plain | Filter::Gradient => width * size,
        };
        let length = row * area.height as usize;
        let nth = usize::from(control >> 4 & 3);
        let plain = match self.0.get_mut(nth) {
            Some(unpacking) if length >= PLAIN => {
                let packed = length_of(stream).await?;
                unpack(unpacking, &stream.take(packed).await?, length)?
            }
            _ => stream.take(length).await?.to_vec(),
        };
        let mut above = vec![[0; 3]; width];
        for (y, sent) in (0..area.height).zip(plain.chunks_exact(row.max(1))) {
            match &filter {
                Filter::Plain => canvas.paint(area, y, 0, sent.chunks_exact(size).map(colour)),
                Filter::Gradient => {
                    above = gradient(&above, sent);
                    canvas.paint(area, y, 0, above.iter().copied());
                }
                Filter::Palette(colours) => {
                    let of = |index: u8| colours.get(usize::from(index)).copied();
                    if colours.len() <= 2 {
                        let bits =
                            sent.iter().flat_map(|byte| (0..8).map(move |n| byte >> (7 - n) & 1));
                        let colours = bits.take(width).map(|bit| of(bit).unwrap_or_default());
                        canvas.paint(area, y, 0, colours);
                    } else {
                        let colours = sent.iter().map(|index| of(*index).unwrap_or_default());
                        canvas.paint(area, y, 0, colours);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A row whose levels are what they differ by from what the neighbours foretell.
fn gradient(above: &[Rgb], sent: &[u8]) -> Vec<Rgb> {
    let (mut left, mut corner) = ([0u8; 3], [0u8; 3]);
    let (differences, _) = sent.as_chunks::<3>();
    let pixels = above.iter().zip(differences).map(|(above, difference)| {
        let mut pixel = [0; 3];
        let neighbours = left.iter().zip(above).zip(&corner);
        for ((level, difference), ((left, above), corner)) in
            pixel.iter_mut().zip(difference).zip(neighbours)
        {
            let foretold = i16::from(*left) + i16::from(*above) - i16::from(*corner);
            let foretold = u8::try_from(foretold.clamp(0, 255)).unwrap_or_default();
            *level = foretold.wrapping_add(*difference);
        }
        (left, corner) = (pixel, *above);
        pixel
    });
    pixels.collect()
}

/// A length of one to three bytes, seven bits each and the last one eight.
async fn length_of<S>(stream: &mut Stream<S>) -> Result<usize, ConsoleProblem>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut length = 0;
    for shift in [0, 7, 14] {
        let byte = stream.u8().await?;
        let bits = if shift == 14 { byte } else { byte & 0x7f };
        length |= usize::from(bits) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok(length)
}

/// Unpacks exactly so many bytes.
fn unpack(
    unpacking: &mut Decompress,
    packed: &[u8],
    length: usize,
) -> Result<Vec<u8>, ConsoleProblem> {
    let broken = ConsoleProblem::Garbage("a picture whose compression is broken");
    // One byte more, so that too much is noticed.
    let mut plain = Vec::with_capacity(length + 1);
    let status = unpacking.decompress_vec(packed, &mut plain, FlushDecompress::Sync);
    match status {
        Ok(Status::Ok | Status::StreamEnd | Status::BufError) if plain.len() == length => Ok(plain),
        _ => Err(broken),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::ZlibEncoder};
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::console::frame::Socket;

    const FORMAT: [u8; 16] = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0];

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.flush().unwrap();
        let packed = encoder.get_ref().clone();
        let low = u8::try_from(packed.len() & 0x7f).unwrap();
        let mut sent = vec![low | 0x80, u8::try_from(packed.len() >> 7).unwrap()];
        sent.extend(packed);
        sent
    }

    /// What a screen shows of bytes that a server sends.
    async fn painted(width: u32, height: u32, sent: &[u8]) -> Result<Vec<u8>, ConsoleProblem> {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        for piece in sent.chunks(100) {
            far.write_all(&[0x82, u8::try_from(piece.len()).unwrap()]).await.unwrap();
            far.write_all(piece).await.unwrap();
        }
        drop(far);
        let mut stream = Stream::new(Socket::over(near));
        let mut canvas = Canvas::new(width, height)?;
        let format = Format::read(&FORMAT)?;
        let area = Area { x: 0, y: 0, width, height };
        Tight::new().paint(&mut stream, &mut canvas, &format, area).await?;
        Ok(canvas.rgb)
    }

    #[tokio::test]
    async fn every_kind_of_rectangle_is_painted() {
        assert_eq!(painted(2, 1, &[0x80, 1, 2, 3]).await.unwrap(), [1, 2, 3, 1, 2, 3]);
        // Too short to be packed.
        let plain = painted(2, 1, &[0, 1, 2, 3, 4, 5, 6]).await.unwrap();
        assert_eq!(plain, [1, 2, 3, 4, 5, 6]);
        let levels: Vec<u8> = (0..60).collect();
        let sent = [vec![0x10], packed(&levels)].concat();
        assert_eq!(painted(4, 5, &sent).await.unwrap(), levels);
        let two = [0x40, 1, 1, 0, 0, 0, 9, 9, 9, 0b1010_0000];
        assert_eq!(painted(3, 1, &two).await.unwrap(), [9, 9, 9, 0, 0, 0, 9, 9, 9]);
        let three = [0x60, 1, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 0];
        assert_eq!(painted(2, 1, &three).await.unwrap(), [3, 3, 3, 1, 1, 1]);
        // Two rows that rise by one to the right and by ten downwards.
        let rising = [0x40, 2, 5, 5, 5, 1, 1, 1, 10, 10, 10, 0, 0, 0];
        let sent = [&rising[..2], &packed(&rising[2..])].concat();
        assert_eq!(painted(2, 2, &sent).await.unwrap(), [5, 5, 5, 6, 6, 6, 15, 15, 15, 16, 16, 16]);
    }

    #[tokio::test]
    async fn what_is_broken_or_too_much_is_refused() {
        let bomb = [vec![0], packed(&vec![0; 1 << 20])].concat();
        let short = [vec![0], packed(&[0; 20])].concat();
        for sent in [&bomb[..], &short, &[0x90, 1], &[0x40, 7], &[0, 0x85, 0, 1, 2, 3, 4, 5]] {
            assert!(painted(4, 4, sent).await.is_err(), "{:?}", sent.get(..8));
        }
    }

    proptest! {
        #[test]
        fn whatever_a_server_sends_is_bounded(sent in proptest::collection::vec(any::<u8>(), 0..200)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = runtime.block_on(painted(70, 30, &sent));
        }
    }
}
