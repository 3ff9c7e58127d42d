//! The pixels of a screen, and how a server writes them.
//!
//! **Invariant:** memory is taken only for a screen of at most [`MOST_PIXELS`] pixels, and nothing is
//! written outside of it.

use super::ConsoleProblem;

/// The largest screen that is read: 4096 x 4096.
const MOST_PIXELS: u32 = 1 << 24;

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// How a server writes a pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// 1, 2 or 4.
    pub(super) bytes: usize,
    depth: u8,
    big_endian: bool,
    /// Largest value and place of red, green and blue. `None` where pixels are numbers of colours.
    channels: Option<[(u16, u8); 3]>,
    /// Which of the four bytes are sent where three are enough (ZRLE).
    pub(super) short: Option<usize>,
    map: Vec<Rgb>,
}

/// A screen.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) rgb: Vec<u8>,
}

/// A part of a screen. It was checked to lie within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Format {
    /// Reads the sixteen bytes that RFB has for it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ConsoleProblem> {
        let &[bits, depth, big, coloured, r1, r2, g1, g2, b1, b2, r, g, b, ..] = bytes else {
            return Err(ConsoleProblem::Garbage("a pixel format that is cut short"));
        };
        if !matches!(bits, 8 | 16 | 32) || r >= 32 || g >= 32 || b >= 32 {
            return Err(ConsoleProblem::Garbage("a pixel format that does not exist"));
        }
        let most = |high, low| u16::from_be_bytes([high, low]);
        let channels = [(most(r1, r2), r), (most(g1, g2), g), (most(b1, b2), b)];
        let (big_endian, coloured) = (big != 0, coloured != 0);
        let fits = |from: u32, to: u32| {
            channels.iter().all(|(most, shift)| {
                let top = u32::from(*shift) + (16 - most.leading_zeros());
                u32::from(*shift) >= from && top <= to
            })
        };
        // The three bytes that hold everything, counted from the first that is sent.
        let short = match (coloured && bits == 32 && depth <= 24, big_endian) {
            (true, false) if fits(0, 24) => Some(0),
            (true, true) if fits(0, 24) => Some(1),
            (true, false) if fits(8, 32) => Some(1),
            (true, true) if fits(8, 32) => Some(0),
            _ => None,
        };
        Ok(Self {
            bytes: usize::from(bits / 8),
            depth,
            big_endian,
            channels: coloured.then_some(channels),
            short,
            map: vec![[0; 3]; 256],
        })
    }

    /// Four bytes, of which tight leaves out the one that says nothing, and writes red first.
    pub(super) fn is_plain_rgb(&self) -> bool {
        let levels = |channels: &[(u16, u8); 3]| channels.iter().all(|(most, _)| *most == 255);
        self.bytes == 4 && self.depth == 24 && self.channels.as_ref().is_some_and(levels)
    }

    /// Whether pixels are numbers of colours.
    pub(super) fn is_mapped(&self) -> bool {
        self.channels.is_none()
    }

    /// Sets colours of the map, from `first` on, from six bytes each.
    ///
    /// RFB has two bytes for each of red, green and blue, of which the first counts most. vncterm
    /// writes its single byte into the second (recorded from PVE 9.2.11).
    pub(super) fn set_map(&mut self, first: usize, sent: &[u8]) {
        let levels = |from| sent.iter().skip(from).step_by(2);
        let is_vncterm = levels(0).all(|level| *level == 0);
        let mut levels = levels(usize::from(is_vncterm)).copied();
        for entry in self.map.iter_mut().skip(first) {
            let (Some(red), Some(green), Some(blue)) =
                (levels.next(), levels.next(), levels.next())
            else {
                return;
            };
            *entry = [red, green, blue];
        }
    }

    /// The colour of one pixel as it was sent.
    pub(super) fn colour(&self, sent: &[u8]) -> Rgb {
        let join = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        let value = if self.big_endian {
            sent.iter().fold(0, join)
        } else {
            sent.iter().rev().fold(0, join)
        };
        match &self.channels {
            Some(channels) => channels.map(|(most, shift)| {
                let most = u32::from(most.max(1));
                let level = (value >> shift & most) * 255 / most;
                u8::try_from(level).unwrap_or(u8::MAX)
            }),
            None => usize::try_from(value)
                .ok()
                .and_then(|index| self.map.get(index).copied())
                .unwrap_or_default(),
        }
    }

    /// The colour of a pixel of which only the bytes that matter were sent.
    pub(super) fn short_colour(&self, sent: &[u8]) -> Rgb {
        match (self.short, sent) {
            (Some(0), &[a, b, c]) => self.colour(&[a, b, c, 0]),
            (Some(_), &[a, b, c]) => self.colour(&[0, a, b, c]),
            _ => self.colour(sent),
        }
    }
}

impl Canvas {
    /// A black screen.
    pub(super) fn new(width: u32, height: u32) -> Result<Self, ConsoleProblem> {
        // Either may be 65,535, so the product fits.
        if width * height > MOST_PIXELS {
            return Err(ConsoleProblem::TooLarge { width, height });
        }
        let bytes = usize::try_from(width * height * 3).unwrap_or_default();
        Ok(Self { width, height, rgb: vec![0; bytes] })
    }

    /// The part of the screen that these numbers mean.
    pub(super) fn area(&self, x: u16, y: u16, w: u16, h: u16) -> Result<Area, ConsoleProblem> {
        let [x, y, width, height] = [x, y, w, h].map(u32::from);
        if x + width > self.width || y + height > self.height {
            return Err(ConsoleProblem::Garbage("a part outside of the screen"));
        }
        Ok(Area { x, y, width, height })
    }

    /// Paints one row of an area; `row` counts from the area's top, `from` from its left.
    pub(super) fn paint(
        &mut self,
        area: Area,
        row: u32,
        from: u32,
        colours: impl Iterator<Item = Rgb>,
    ) {
        let start = ((area.y + row) * self.width + area.x + from) * 3;
        let end = ((area.y + row) * self.width + area.x + area.width) * 3;
        let range = usize::try_from(start).unwrap_or_default()..usize::try_from(end).unwrap_or(0);
        let Some(pixels) = self.rgb.get_mut(range) else { return };
        for (pixel, colour) in pixels.chunks_exact_mut(3).zip(colours) {
            pixel.copy_from_slice(&colour);
        }
    }
}

impl Area {
    /// How many pixels it has.
    pub(super) fn pixels(self) -> u32 {
        self.width * self.height
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What QEMU says: 32 bits, depth 24, red at 16, green at 8, blue at 0.
    const QEMU: [u8; 16] = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0];

    #[test]
    fn the_recorded_formats_are_read() {
        let qemu = Format::read(&QEMU).unwrap();
        assert_eq!((qemu.bytes, qemu.short), (4, Some(0)));
        assert_eq!(qemu.colour(&[3, 2, 1, 0]), [1, 2, 3]);
        assert_eq!(qemu.short_colour(&[3, 2, 1]), [1, 2, 3]);
        // vncterm has eight bits that are numbers of colours.
        let mut map = Format::read(&[8, 8, 0, 0, 0, 7, 0, 7, 0, 3, 0, 3, 6, 0, 0, 0]).unwrap();
        map.set_map(7, &[0, 170, 0, 170, 0, 170]);
        map.set_map(8, &[255, 255, 128, 0, 0, 0]);
        assert_eq!((map.colour(&[7]), map.colour(&[200])), ([170; 3], [0; 3]));
        assert_eq!(map.colour(&[8]), [255, 128, 0]);
        let wide = Format::read(&[16, 16, 1, 1, 0, 31, 0, 63, 0, 31, 11, 5, 0, 0, 0, 0]).unwrap();
        assert_eq!(wide.colour(&[0xf8, 0x1f]), [255, 0, 255]);
    }

    #[test]
    fn a_screen_that_is_too_large_takes_no_memory_and_nothing_is_painted_outside() {
        assert!(matches!(
            Canvas::new(65_535, 65_535),
            Err(ConsoleProblem::TooLarge { width: 65_535, .. })
        ));
        let mut canvas = Canvas::new(4, 4).unwrap();
        assert!(canvas.area(3, 0, 2, 1).is_err());
        let area = canvas.area(2, 3, 2, 1).unwrap();
        canvas.paint(area, 0, 1, std::iter::repeat([9; 3]));
        canvas.paint(area, 7, 0, std::iter::repeat([9; 3]));
        assert_eq!(canvas.rgb.split(|byte| *byte == 9).count(), 4, "three bytes are painted");
    }

    #[test]
    fn a_format_that_does_not_exist_is_refused() {
        let mut odd = QEMU;
        odd[0] = 24;
        assert!(Format::read(&odd).is_err());
        odd = QEMU;
        odd[10] = 99;
        assert!(Format::read(&odd).is_err());
    }

    proptest! {
        #[test]
        fn every_format_is_refused_or_reads_every_pixel(
            format in prop::collection::vec(any::<u8>(), 0..20),
            map in prop::collection::vec(any::<u8>(), 0..40),
            first in 0_usize..300,
            sent in prop::collection::vec(any::<u8>(), 0..5),
        ) {
            if let Ok(mut format) = Format::read(&format) {
                prop_assert!([1, 2, 4].contains(&format.bytes));
                format.set_map(first, &map);
                let _ = (format.colour(&sent), format.is_plain_rgb());
            }
        }
    }
}
