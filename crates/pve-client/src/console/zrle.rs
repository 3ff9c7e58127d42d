//! ZRLE: tiles of 64 x 64 pixels, packed, in one zlib stream for the whole connection.
//!
//! **Invariant:** what a rectangle unpacks to is bounded by its size, whatever the stream says.

use flate2::{Decompress, FlushDecompress, Status};

use super::{
    ConsoleProblem,
    pixels::{Area, Canvas, Format, Rgb},
};

const TILE: u32 = 64;

/// The unpacking of one connection.
pub(super) struct Zrle(Decompress);

/// Reads what was unpacked.
struct Reader<'a> {
    bytes: &'a [u8],
    format: &'a Format,
}

impl Zrle {
    pub(super) fn new() -> Self {
        Self(Decompress::new(true))
    }

    /// Paints a rectangle.
    pub(super) fn paint(
        &mut self,
        canvas: &mut Canvas,
        format: &Format,
        area: Area,
        packed: &[u8],
    ) -> Result<(), ConsoleProblem> {
        // A pixel costs at most five bytes, and a tile at most a palette beside its pixels.
        let tiles = area.width.div_ceil(TILE) * area.height.div_ceil(TILE);
        let most = usize::try_from(area.pixels() * 5 + tiles * 600).unwrap_or(usize::MAX);
        let plain = self.unpack(packed, most)?;
        let mut reader = Reader { bytes: &plain, format };
        for y in (0..area.height).step_by(TILE as usize) {
            for x in (0..area.width).step_by(TILE as usize) {
                let tile = Area {
                    x: area.x + x,
                    y: area.y + y,
                    width: TILE.min(area.width - x),
                    height: TILE.min(area.height - y),
                };
                reader.tile(canvas, tile).ok_or(ConsoleProblem::Garbage("a broken tile"))?;
            }
        }
        Ok(())
    }

    fn unpack(&mut self, packed: &[u8], most: usize) -> Result<Vec<u8>, ConsoleProblem> {
        let broken = ConsoleProblem::Garbage("a picture whose compression is broken");
        let mut plain = Vec::with_capacity(packed.len().saturating_mul(4).min(most) + 64);
        let mut left = packed;
        loop {
            let (read, wrote) = (self.0.total_in(), plain.len());
            let status = self.0.decompress_vec(left, &mut plain, FlushDecompress::Sync);
            let status = status.map_err(|_| broken.clone())?;
            let read = usize::try_from(self.0.total_in() - read).unwrap_or_default();
            left = left.get(read..).unwrap_or_default();
            if plain.len() > most {
                return Err(ConsoleProblem::Garbage("a picture that unpacks to too much"));
            }
            let is_full = plain.len() == plain.capacity();
            if status == Status::StreamEnd || (left.is_empty() && !is_full) {
                return Ok(plain);
            }
            if is_full {
                plain.reserve(plain.len().max(4096));
            } else if read == 0 && plain.len() == wrote {
                return Err(broken);
            }
        }
    }
}

impl Reader<'_> {
    /// `None` when it is broken.
    fn tile(&mut self, canvas: &mut Canvas, tile: Area) -> Option<()> {
        let kind = self.byte()?;
        match kind {
            0 => {
                let row = tile.width as usize * self.size();
                for y in 0..tile.height {
                    let format = self.format;
                    let size = self.size();
                    let sent = self.take(row)?;
                    let colours = sent.chunks_exact(size).map(|sent| format.short_colour(sent));
                    canvas.paint(tile, y, 0, colours);
                }
                Some(())
            }
            1 => {
                let colour = self.pixel()?;
                for y in 0..tile.height {
                    canvas.paint(tile, y, 0, std::iter::repeat(colour));
                }
                Some(())
            }
            2..=16 => {
                let palette = self.palette(usize::from(kind))?;
                self.packed(canvas, tile, &palette)
            }
            128 => self.runs(canvas, tile, &[]),
            130..=255 => {
                let palette = self.palette(usize::from(kind - 128))?;
                self.runs(canvas, tile, &palette)
            }
            _ => None,
        }
    }

    fn packed(&mut self, canvas: &mut Canvas, tile: Area, palette: &[Rgb]) -> Option<()> {
        let bits = match palette.len() {
            0..=2 => 1,
            3..=4 => 2,
            _ => 4,
        };
        let row = (tile.width * bits).div_ceil(8) as usize;
        for y in 0..tile.height {
            let sent = self.take(row)?;
            let indices = sent
                .iter()
                .flat_map(|byte| (0..8 / bits).map(move |nth| byte << (nth * bits) >> (8 - bits)));
            let colours =
                indices.map(|index| palette.get(usize::from(index)).copied().unwrap_or_default());
            canvas.paint(tile, y, 0, colours.take(tile.width as usize));
        }
        Some(())
    }

    /// Runs of one colour, which go on from one row to the next.
    fn runs(&mut self, canvas: &mut Canvas, tile: Area, palette: &[Rgb]) -> Option<()> {
        let all = tile.pixels();
        let mut done = 0;
        while done < all {
            let (colour, is_run) = if palette.is_empty() {
                (self.pixel()?, true)
            } else {
                let index = self.byte()?;
                (*palette.get(usize::from(index & 0x7f))?, index & 0x80 != 0)
            };
            let mut length = 1;
            // Each byte adds to the length, and 255 says that another one follows.
            let mut follows = is_run;
            while follows {
                let more = self.byte()?;
                length += u32::from(more);
                follows = more == u8::MAX;
            }
            if length > all - done {
                return None;
            }
            while length > 0 {
                let (row, from) = (done / tile.width, done % tile.width);
                let here = length.min(tile.width - from);
                canvas.paint(tile, row, from, std::iter::repeat_n(colour, here as usize));
                done += here;
                length -= here;
            }
        }
        Some(())
    }

    fn palette(&mut self, count: usize) -> Option<Vec<Rgb>> {
        (0..count).map(|_| self.pixel()).collect()
    }

    fn size(&self) -> usize {
        self.format.short.map_or(self.format.bytes, |_| 3)
    }

    fn pixel(&mut self) -> Option<Rgb> {
        let format = self.format;
        let size = self.size();
        Some(format.short_colour(self.take(size)?))
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, left) = self.bytes.split_at_checked(count)?;
        self.bytes = left;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    const FORMAT: [u8; 16] = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0];

    fn paint(width: u32, height: u32, plain: &[u8]) -> Result<Vec<u8>, ConsoleProblem> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        let packed = encoder.finish().unwrap();
        let mut canvas = Canvas::new(width, height)?;
        let format = Format::read(&FORMAT)?;
        let area = Area { x: 0, y: 0, width, height };
        Zrle::new().paint(&mut canvas, &format, area, &packed)?;
        Ok(canvas.rgb)
    }

    #[test]
    fn every_kind_of_tile_is_painted() {
        assert_eq!(paint(2, 1, &[1, 3, 2, 1]).unwrap(), [1, 2, 3, 1, 2, 3]);
        assert_eq!(paint(2, 1, &[0, 3, 2, 1, 6, 5, 4]).unwrap(), [1, 2, 3, 4, 5, 6]);
        let two = [2, 0, 0, 0, 9, 9, 9, 0b1010_0000];
        assert_eq!(paint(3, 1, &two).unwrap(), [9, 9, 9, 0, 0, 0, 9, 9, 9]);
        assert_eq!(paint(2, 2, &[128, 7, 7, 7, 2, 0, 0, 0, 0]).unwrap()[6..], [7, 7, 7, 0, 0, 0]);
        let indexed = [130, 1, 1, 1, 2, 2, 2, 0x80, 1, 1];
        assert_eq!(paint(3, 1, &indexed).unwrap(), [1, 1, 1, 1, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn broken_tiles_and_bombs_are_refused() {
        for plain in [&[0, 1][..], &[129], &[17], &[128, 7, 7, 7, 200], &[130, 1, 1, 1, 2, 2, 2, 9]]
        {
            assert!(paint(4, 4, plain).is_err(), "{plain:?}");
        }
        assert!(paint(4, 4, &vec![0; 1 << 20]).is_err());
    }

    proptest! {
        #[test]
        fn whatever_a_server_sends_is_bounded(plain in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = paint(130, 70, &plain);
        }
    }
}
