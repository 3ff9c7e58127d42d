//! Pixels: lines, areas and letters, on an opaque ground.
//!
//! Letters are drawn from the outlines of a font that is compiled in.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// Roboto, under the Apache License 2.0; see `assets/README.md`.
static FONT: &[u8] = include_bytes!("../../assets/Roboto-subset.ttf");

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour {
    red: u8,
    green: u8,
    blue: u8,
    alpha: u8,
}

impl Colour {
    pub(super) const fn rgb(red: u8, green: u8, blue: u8) -> Self {
        Self { red, green, blue, alpha: 0xff }
    }

    /// The same, through which so much of what is below is seen: 0 is invisible.
    pub(super) const fn with_alpha(self, alpha: u8) -> Self {
        Self { alpha, ..self }
    }

    fn skia(self) -> Color {
        Color::from_rgba8(self.red, self.green, self.blue, self.alpha)
    }

    fn paint(self) -> Paint<'static> {
        let mut paint = Paint::default();
        paint.set_color(self.skia());
        paint.anti_alias = true;
        paint
    }
}

/// A picture that is being drawn.
pub(super) struct Canvas {
    pixels: Pixmap,
    font: Face<'static>,
}

/// A number of pixels as the library takes it.
#[expect(clippy::cast_possible_truncation, reason = "a picture is a few thousand pixels wide")]
fn px(value: f64) -> f32 {
    // What is far outside the picture is not seen, and the library need not cope with it.
    value.clamp(-1e4, 1e4) as f32
}

impl Canvas {
    /// An empty picture. `None` for a size that cannot be.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the sizes are looked at"
    )]
    pub(super) fn new(width: f64, height: f64, ground: Colour) -> Option<Self> {
        let size = 1.0..=4096.0;
        if !size.contains(&width) || !size.contains(&height) {
            return None;
        }
        let mut pixels = Pixmap::new(width as u32, height as u32)?;
        pixels.fill(ground.skia());
        Some(Self { pixels, font: Face::parse(FONT, 0).ok()? })
    }

    /// Fills a rectangle.
    pub(super) fn fill(&mut self, x: f64, y: f64, width: f64, height: f64, colour: Colour) {
        if let Some(rect) = Rect::from_xywh(px(x), px(y), px(width), px(height)) {
            self.pixels.fill_rect(rect, &colour.paint(), Transform::identity(), None);
        }
    }

    /// Draws the edges of a rectangle.
    pub(super) fn frame(&mut self, x: f64, y: f64, width: f64, height: f64, colour: Colour) {
        let (right, bottom) = (x + width, y + height);
        let corners = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y)];
        self.line(&corners, 1.0, colour);
    }

    /// Draws a line through points.
    pub(super) fn line(&mut self, points: &[(f64, f64)], width: f64, colour: Colour) {
        self.stroke(points, width, colour, None);
    }

    /// Draws a line of dashes.
    pub(super) fn dashes(&mut self, points: &[(f64, f64)], colour: Colour) {
        self.stroke(points, 1.0, colour, StrokeDash::new(vec![5.0, 4.0], 0.0));
    }

    fn stroke(
        &mut self,
        points: &[(f64, f64)],
        width: f64,
        colour: Colour,
        dash: Option<StrokeDash>,
    ) {
        let stroke = Stroke {
            width: px(width),
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            dash,
            ..Stroke::default()
        };
        if let Some(path) = path(points, false) {
            self.pixels.stroke_path(&path, &colour.paint(), &stroke, Transform::identity(), None);
        }
    }

    /// Fills what is between a line and a height.
    pub(super) fn area(&mut self, points: &[(f64, f64)], base: f64, colour: Colour) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
        let mut around = points.to_vec();
        around.extend([(last.0, base), (first.0, base)]);
        if let Some(path) = path(&around, true) {
            let (paint, rule) = (colour.paint(), FillRule::Winding);
            self.pixels.fill_path(&path, &paint, rule, Transform::identity(), None);
        }
    }

    /// Writes from `x` to the right, on the line `y`.
    pub(super) fn text(&mut self, text: &str, x: f64, y: f64, size: f64, colour: Colour) {
        let scale = size / f64::from(self.font.units_per_em());
        let mut pen = Pen { path: PathBuilder::new(), x, y, scale };
        for letter in text.chars() {
            // A letter that the font lacks is shown as one.
            let glyph = self.font.glyph_index(letter).or_else(|| self.font.glyph_index('?'));
            let Some(glyph) = glyph else { continue };
            self.font.outline_glyph(glyph, &mut pen);
            let advance = self.font.glyph_hor_advance(glyph).unwrap_or_default();
            pen.x += f64::from(advance) * scale;
        }
        if let Some(path) = pen.path.finish() {
            let (paint, rule) = (colour.paint(), FillRule::Winding);
            self.pixels.fill_path(&path, &paint, rule, Transform::identity(), None);
        }
    }

    /// Writes so that it ends at `x`.
    pub(super) fn text_right(&mut self, text: &str, x: f64, y: f64, size: f64, colour: Colour) {
        self.text(text, x - self.width(text, size), y, size, colour);
    }

    /// How wide a text is.
    pub(super) fn width(&self, text: &str, size: f64) -> f64 {
        let scale = size / f64::from(self.font.units_per_em());
        let advance = |letter| {
            let glyph = self.font.glyph_index(letter).or_else(|| self.font.glyph_index('?'));
            glyph.and_then(|glyph| self.font.glyph_hor_advance(glyph)).unwrap_or_default()
        };
        text.chars().map(|letter| f64::from(advance(letter))).sum::<f64>() * scale
    }

    /// The picture as PNG, without transparency.
    pub(super) fn png(&self) -> Option<Vec<u8>> {
        let opaque: Vec<u8> = self
            .pixels
            .pixels()
            .iter()
            .flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()])
            .collect();
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, self.pixels.width(), self.pixels.height());
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&opaque).ok()?;
        writer.finish().ok()?;
        Some(png)
    }
}

fn path(points: &[(f64, f64)], is_closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    builder.move_to(px(first.0), px(first.1));
    for (x, y) in rest {
        builder.line_to(px(*x), px(*y));
    }
    if is_closed {
        builder.close();
    }
    builder.finish()
}

/// Draws the outlines of letters where they belong.
struct Pen {
    path: PathBuilder,
    x: f64,
    y: f64,
    scale: f64,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        // In fonts, up is up.
        (px(self.x + f64::from(x) * self.scale), px(self.y - f64::from(y) * self.scale))
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
