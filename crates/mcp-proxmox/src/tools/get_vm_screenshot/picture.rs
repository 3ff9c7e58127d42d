//! A screen as a PNG that is small enough for a model.
//!
//! **No picture has more than [`MOST_BYTES`]**: screens of text have few colours and get a palette;
//! what is still too large, as a photograph is, gets fewer pixels.

use std::collections::HashMap;

use png::{BitDepth, ColorType, Compression, Encoder};
use pve_client::console::Screenshot;

use crate::failure::Failure;

/// The largest picture.
const MOST_BYTES: usize = 500_000;

type Rgb = [u8; 3];

/// A part of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// A picture that was made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) png: Vec<u8>,
    pub(super) width: u32,
    pub(super) height: u32,
    /// The colour, where there is only one.
    pub(super) only_colour: Option<Rgb>,
}

impl Area {
    /// Reads `x,y,width,height`.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let numbers: Option<Vec<u32>> = text
            .split([',', ' ', 'x'])
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect();
        match numbers.as_deref() {
            Some(&[x, y, width, height]) if width > 0 && height > 0 => {
                Ok(Self { x, y, width, height })
            }
            _ => Err(Failure::new("`crop` is not a part of a screen")
                .hint("it is four whole numbers, `x,y,width,height`, in the screen's own pixels: `0,0,640,200`")),
        }
    }

    /// What of it lies within a screen.
    pub(super) fn within(self, width: u32, height: u32) -> Result<Self, Failure> {
        if self.x >= width || self.y >= height {
            return Err(Failure::new(format!(
                "`crop` begins at {},{}, outside of the screen of {width} x {height} pixels",
                self.x, self.y
            )));
        }
        let (most_wide, most_high) = (width - self.x, height - self.y);
        Ok(Self { width: self.width.min(most_wide), height: self.height.min(most_high), ..self })
    }
}

/// Whether this part of a screen is another than before. One of another size is.
pub(super) fn differs(before: &Screenshot, now: &Screenshot, area: Area) -> bool {
    let part =
        |shot: &Screenshot| area.within(shot.width, shot.height).ok().map(|area| cut(shot, area));
    (before.width, before.height) != (now.width, now.height) || part(before) != part(now)
}

/// The part of the screen as a picture that is at most so wide.
pub(super) fn of(shot: &Screenshot, area: Area, max_width: u32) -> Option<Made> {
    let part = cut(shot, area);
    let only_colour = part.first().copied().filter(|first| part.iter().all(|one| one == first));
    let mut width = area.width.min(max_width);
    loop {
        let height = scaled_height(area, width);
        let pixels = if width == area.width {
            part.clone()
        } else {
            scaled(&part, (area.width, area.height), (width, height))
        };
        let png = encode(&pixels, width, height)?;
        if png.len() <= MOST_BYTES || width <= 64 {
            return Some(Made { png, width, height, only_colour });
        }
        // The size goes with the square of the width.
        width = (width * 4 / 5).max(64);
    }
}

fn scaled_height(area: Area, width: u32) -> u32 {
    let height = u64::from(area.height) * u64::from(width) / u64::from(area.width.max(1));
    u32::try_from(height).unwrap_or(1).max(1)
}

fn cut(shot: &Screenshot, area: Area) -> Vec<Rgb> {
    let row = |y: u32| {
        let start = usize::try_from((y * shot.width + area.x) * 3).unwrap_or_default();
        let length = usize::try_from(area.width * 3).unwrap_or_default();
        shot.rgb.get(start..start + length).unwrap_or_default()
    };
    let bytes = (area.y..area.y + area.height).flat_map(row);
    let bytes: Vec<u8> = bytes.copied().collect();
    bytes.as_chunks().0.to_vec()
}

/// Fewer pixels, each the mean of those that it stands for.
fn scaled(pixels: &[Rgb], from: (u32, u32), to: (u32, u32)) -> Vec<Rgb> {
    let [from_width, from_height, to_width, to_height] =
        [from.0, from.1, to.0, to.1].map(|n| n as usize);
    let mut made = Vec::with_capacity(to_width * to_height);
    for y in 0..to_height {
        let rows = y * from_height / to_height..((y + 1) * from_height).div_ceil(to_height);
        for x in 0..to_width {
            let columns = x * from_width / to_width..((x + 1) * from_width).div_ceil(to_width);
            let mut sum = [0u32; 3];
            let mut count = 0;
            for row in rows.clone() {
                let here = row * from_width + columns.start..row * from_width + columns.end;
                for pixel in pixels.get(here).unwrap_or_default() {
                    sum.iter_mut().zip(pixel).for_each(|(sum, level)| *sum += u32::from(*level));
                    count += 1;
                }
            }
            made.push(sum.map(|sum| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX)));
        }
    }
    made
}

fn encode(pixels: &[Rgb], width: u32, height: u32) -> Option<Vec<u8>> {
    let mut png = Vec::new();
    let mut encoder = Encoder::new(&mut png, width, height);
    encoder.set_compression(Compression::Balanced);
    if let Some(palette) = palette(pixels) {
        let bits = match palette.len() {
            0..=2 => 1,
            3..=4 => 2,
            5..=16 => 4,
            _ => 8,
        };
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(BitDepth::from_u8(bits)?);
        let mut colours = vec![[0; 3]; palette.len()];
        for (colour, index) in &palette {
            *colours.get_mut(usize::from(*index))? = *colour;
        }
        encoder.set_palette(colours.concat());
        let data = packed(pixels, width, &palette, bits);
        encoder.write_header().ok()?.write_image_data(&data).ok()?;
    } else {
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.write_header().ok()?.write_image_data(pixels.as_flattened()).ok()?;
    }
    Some(png)
}

/// The colours with their numbers, where there are few.
fn palette(pixels: &[Rgb]) -> Option<HashMap<Rgb, u8>> {
    let mut palette = HashMap::new();
    let mut last = None;
    for pixel in pixels {
        // Screens have long runs of one colour.
        if last == Some(pixel) {
            continue;
        }
        last = Some(pixel);
        let next = palette.len();
        if !palette.contains_key(pixel) {
            palette.insert(*pixel, u8::try_from(next).ok()?);
        }
    }
    Some(palette)
}

/// The numbers of the colours, as many in a byte as fit, each row from a new byte on.
fn packed(pixels: &[Rgb], width: u32, palette: &HashMap<Rgb, u8>, bits: u8) -> Vec<u8> {
    let per_byte = usize::from(8 / bits);
    let mut data = Vec::with_capacity(pixels.len() / per_byte + 1);
    for row in pixels.chunks(width.max(1) as usize) {
        for together in row.chunks(per_byte) {
            let byte = together.iter().enumerate().fold(0, |byte, (nth, pixel)| {
                let index = palette.get(pixel).copied().unwrap_or_default();
                let shift = 8 - bits - bits * u8::try_from(nth).unwrap_or_default();
                byte | index << shift
            });
            data.push(byte);
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shot(width: u32, height: u32, colour: impl Fn(u32, u32) -> Rgb) -> Screenshot {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let rgb = pixels.flat_map(|(x, y)| colour(x, y)).collect();
        Screenshot { width, height, rgb }
    }

    fn whole(shot: &Screenshot) -> Area {
        Area { x: 0, y: 0, width: shot.width, height: shot.height }
    }

    /// The pixels of a PNG, whatever its colours.
    fn pixels(png: &[u8]) -> Vec<u8> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(info.color_type, ColorType::Rgb);
        pixels
    }

    #[test]
    fn what_is_in_the_picture_is_what_was_on_the_screen() {
        for colours in [2u32, 3, 9, 200, 70_000] {
            let shot = shot(333, 50, |x, y| {
                let n = (y * 333 + x).wrapping_mul(7) % colours;
                let [_, b, c, d] = (n * 211).to_be_bytes();
                [b, c, d]
            });
            let made = of(&shot, whole(&shot), 1024).unwrap();
            assert_eq!(pixels(&made.png), shot.rgb, "{colours} colours");
        }
    }

    #[test]
    fn even_noise_stays_below_the_bound() {
        let shot = shot(1600, 1200, |x, y| {
            let [a, b, c, _] = (x ^ y << 11).wrapping_mul(2_654_435_761).to_be_bytes();
            [a, b, c.wrapping_mul(31)]
        });
        let made = of(&shot, whole(&shot), 1024).unwrap();
        assert!(made.png.len() <= MOST_BYTES, "{} at {}", made.png.len(), made.width);
        assert!(made.width < 1024);
    }

    #[test]
    fn one_colour_is_noticed_and_a_part_is_cut_out() {
        let black = shot(64, 64, |_, _| [0; 3]);
        assert_eq!(of(&black, whole(&black), 1024).unwrap().only_colour, Some([0; 3]));
        let marked = shot(100, 100, |x, y| if x >= 90 && y >= 90 { [255, 0, 0] } else { [0; 3] });
        let area = Area::parse("90,90,50,50").unwrap().within(100, 100).unwrap();
        let made = of(&marked, area, 1024).unwrap();
        assert_eq!((made.width, made.height), (10, 10));
        assert_eq!(made.only_colour, Some([255, 0, 0]));
        assert!(Area::parse("1,2,3").is_err() && Area::parse("0,0,0,9").is_err());
        assert!(Area { x: 100, y: 0, width: 1, height: 1 }.within(100, 100).is_err());
    }

    proptest! {
        #[test]
        fn a_picture_has_the_part_that_was_asked_for_and_no_more_pixels_than_that(
            (width, height) in (1_u32..90, 1_u32..60),
            (x, y) in (0_u32..99, 0_u32..99),
            (wide, high) in (1_u32..99, 1_u32..99),
            max_width in 1_u32..120,
            colours in 1_u32..400,
        ) {
            let shot = shot(width, height, |x, y| {
                let [_, b, c, d] = ((y * width + x) % colours * 211).to_be_bytes();
                [b, c, d]
            });
            let area = Area { x, y, width: wide, height: high }.within(width, height);
            prop_assert_eq!(area.is_ok(), x < width && y < height);
            if let Ok(area) = area {
                prop_assert!(area.x + area.width <= width && area.y + area.height <= height);
                let made = of(&shot, area, max_width).unwrap();
                prop_assert_eq!(made.width, area.width.min(max_width));
                prop_assert!(made.height <= area.height && made.png.len() <= MOST_BYTES);
                let drawn = pixels(&made.png);
                prop_assert_eq!(drawn.len(), (made.width * made.height * 3) as usize);
                if made.width == area.width {
                    prop_assert_eq!(drawn, cut(&shot, area).concat());
                }
            }
        }

        #[test]
        fn any_text_is_a_part_of_a_screen_or_is_refused(text in "[0-9, x-]{0,30}|\\PC{0,20}") {
            if let Ok(area) = Area::parse(&text) {
                let written = format!("{},{},{},{}", area.x, area.y, area.width, area.height);
                prop_assert_eq!(Area::parse(&written).ok(), Some(area));
                let _ = area.within(800, 600);
            }
        }
    }
}
