//! Pictures: PNG, PGM and PPM read as bytes by height, width and channel; PNG written, also with several frames (APNG).

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Encoder, EncodingError, Limits, Transformations};

use super::data_files::{content, quoted, write};
use super::{ArrayArg, Of, Text, natives};
use crate::array::{Array, ArrayRef};
use crate::buffer::count_of;
use crate::fault::{Fault, shape_text};

/// First bytes of a PNG file.
const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Deflate makes at most this many bytes of one.
const MOST_INFLATION: usize = 1032;

/// A picture: its shape, [height, width, channels], and its bytes.
type Picture = ([i64; 3], Vec<u8>);

/// The picture in the content of a file, or what is wrong with it.
fn parse(bytes: &[u8]) -> Result<Picture, String> {
    if bytes.starts_with(PNG_MAGIC) {
        return parse_png(bytes);
    }
    match bytes {
        [b'P', b'2' | b'3' | b'5' | b'6', ..] => parse_pnm(bytes),
        [b'P', b'1' | b'4', ..] => Err("is a PBM file; PNG, PGM and PPM are read".to_string()),
        [] => Err("is empty".to_string()),
        _ if PNG_MAGIC.starts_with(bytes) => Err("is truncated".to_string()),
        _ => Err("is neither a PNG nor a PGM or PPM file".to_string()),
    }
}

fn parse_png(bytes: &[u8]) -> Result<Picture, String> {
    let failed = |error: DecodingError| match error {
        DecodingError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "is truncated".to_string()
        }
        other => format!("is a damaged PNG file: {other}"),
    };
    // What is really allocated is compared with the size of the file below.
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: usize::MAX });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let size = decoder.read_header_info().map_err(failed)?.size();
    let (width, height) = size;
    if (width as usize / 8).saturating_mul(height as usize) > bytes.len().saturating_mul(MOST_INFLATION) {
        return Err(format!("announces {width} by {height} points; its {} bytes cannot hold so many", bytes.len()));
    }
    let mut reader = decoder.read_info().map_err(failed)?;
    let length = reader.output_buffer_size().ok_or_else(|| format!("announces {width} by {height} points"))?;
    let mut picture = Vec::new();
    picture
        .try_reserve_exact(length)
        .map_err(|_| format!("announces {width} by {height} points, too many for the memory"))?;
    picture.resize(length, 0);
    let frame = reader.next_frame(&mut picture).map_err(failed)?;
    reader.finish().map_err(failed)?;
    picture.truncate(frame.buffer_size());
    let channels = match frame.color_type {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        ColorType::Indexed => return Err("has colors without a table".to_string()),
    };
    Ok(([i64::from(height), i64::from(width), channels], picture))
}

/// The parts of a PGM or PPM file.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    /// The next number; blanks and comments in front of it are passed over.
    fn number(&mut self, what: &str) -> Result<i64, String> {
        loop {
            match self.0 {
                [b'#', ..] => {
                    let end = self.0.iter().position(|&byte| byte == b'\n');
                    self.0 = &self.0[end.unwrap_or(self.0.len())..];
                }
                [byte, rest @ ..] if byte.is_ascii_whitespace() || *byte == 0x0b => self.0 = rest,
                [] => return Err(format!("is truncated: {what} is missing")),
                _ => break,
            }
        }
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        let number = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("has something that is no number in place of {what}"))
    }
}

fn parse_pnm(bytes: &[u8]) -> Result<Picture, String> {
    let (format, plain) = (bytes[1], bytes[1] < b'4');
    let channels = if matches!(format, b'3' | b'6') { 3 } else { 1 };
    let mut words = Words(&bytes[2..]);
    let width = words.number("the width")?;
    let height = words.number("the height")?;
    let most = words.number("the greatest value")?;
    if !(1..=65535).contains(&most) {
        return Err(format!("announces values up to {most}; 1 to 65535 are possible"));
    }
    let shape = [height, width, channels];
    let count = count_of(&shape).map_err(|fault| format!("announces an impossible size: {fault}"))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let scaled = |value: i64| -> Result<u8, String> {
        if value > most {
            return Err(format!("has the value {value}; {most} is its greatest"));
        }
        Ok(u8::try_from((value * 255 + most / 2) / most).unwrap_or(255))
    };
    let size = if plain || most > 255 { 2 } else { 1 };
    let rest = if plain { words.0 } else { words.0.split_first().map_or(&[][..], |(_, rest)| rest) };
    // Numbers in words take two bytes, too: a digit and a blank. The last may have no blank.
    let expected = count.saturating_mul(size);
    if rest.len() + usize::from(plain) < expected {
        let (found, size) = (rest.len(), shape_text(&shape));
        return Err(format!("is truncated: the shape {size} needs {expected} bytes, but there are {found}"));
    }
    let picture = if plain {
        let mut words = Words(rest);
        (0..count).map(|_| words.number("a value").and_then(scaled)).collect::<Result<_, _>>()?
    } else if size == 2 {
        rest.as_chunks::<2>().0[..count]
            .iter()
            .map(|&pair| scaled(u16::from_be_bytes(pair).into()))
            .collect::<Result<_, _>>()?
    } else if most == 255 {
        rest[..count].to_vec()
    } else {
        rest[..count].iter().map(|&byte| scaled(byte.into())).collect::<Result<_, _>>()?
    };
    Ok((shape, picture))
}

/// How many frames an animation has, and for how many milliseconds each is shown.
struct Animation {
    frames: u32,
    ms: u16,
}

/// A picture as the bytes of a PNG file. `channels` are 1 to 4.
pub fn png_image(height: i64, width: i64, channels: i64, bytes: &[u8]) -> Result<Vec<u8>, String> {
    encoded(height, width, channels, None, bytes)
}

/// Frames of one size as the bytes of an animated PNG file, which starts again when it ends.
fn png_animation(shape: &[i64], ms: i32, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let &[frames, height, width, channels] = shape else {
        return Err(format!("an animation has 4 axes, not {}", shape.len()));
    };
    // Frames and their data are numbered together, in 31 bits.
    let frames = match u32::try_from(frames) {
        Ok(frames) if (1..=1 << 30).contains(&frames) => frames,
        _ => return Err(format!("an animation of {frames} frames cannot be a PNG file")),
    };
    let ms = u16::try_from(ms).map_err(|_| format!("a frame is shown for 0 to {} milliseconds, not {ms}", u16::MAX))?;
    encoded(height, width, channels, Some(Animation { frames, ms }), bytes)
}

fn encoded(
    height: i64,
    width: i64,
    channels: i64,
    animation: Option<Animation>,
    bytes: &[u8],
) -> Result<Vec<u8>, String> {
    let color = match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        _ => return Err(format!("a picture has 1 to 4 channels, not {channels}")),
    };
    let side = |extent: i64| match u32::try_from(extent) {
        Ok(extent) if (1..=i32::MAX as u32).contains(&extent) => Ok(extent),
        _ => Err(format!("a picture of {height} by {width} points cannot be a PNG file")),
    };
    let mut image = Vec::new();
    let mut encoder = Encoder::new(&mut image, side(width)?, side(height)?);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    encoder.validate_sequence(true);
    let failed = |error: EncodingError| error.to_string();
    let mut frame_length = bytes.len();
    if let Some(Animation { frames, ms }) = animation {
        encoder.set_animated(frames, 0).map_err(failed)?;
        encoder.set_frame_delay(ms, 1000).map_err(failed)?;
        frame_length /= frames as usize;
    }
    let mut writer = encoder.write_header().map_err(failed)?;
    for frame in bytes.chunks_exact(frame_length.max(1)) {
        writer.write_image_data(frame).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(image)
}

fn write_png(name: &[u8], shape: &[i64], bytes: &[u8]) -> Result<(), Fault> {
    let image = match shape {
        [height, width] => png_image(*height, *width, 1, bytes),
        [height, width, channels] => png_image(*height, *width, *channels, bytes),
        _ => Err(format!("a picture has 2 or 3 axes, not {}", shape.len())),
    };
    write_image(name, image)
}

fn write_image(name: &[u8], image: Result<Vec<u8>, String>) -> Result<(), Fault> {
    write(name, &image.map_err(|why| Fault::new(format!("cannot write {}: {why}", quoted(name))))?)
}

natives! { IMAGE;
    /// The picture in a PNG, PGM or PPM file: height, width and 1 to 4 channels (gray, gray and opacity, colors, colors and opacity).
    root fn ravel_image_read(name: Text<'_>) -> (a: Of<u8>) {
        let bytes = content(name.0)?;
        let (shape, picture) = parse(&bytes).map_err(|why| Fault::new(format!("{} {why}", quoted(name.0))))?;
        Array::from_slice(&shape, &picture).map(Of::new)
    }

    /// Writes a picture of height and width, or of height, width and 1 to 4 channels, as a PNG file.
    write fn ravel_image_write_png(name: Text<'_>, a: ArrayRef<'_>) -> () {
        match a.as_slice::<u8>() {
            Some(bytes) => write_png(name.0, a.shape(), bytes),
            None => Err(Fault::new("a picture consists of bytes")),
        }
    }

    /// Writes numbers from 0 to 255 by height, width and channel as a PNG file.
    write fn ravel_image_write_png_ints(name: Text<'_>, shape: ArrayArg<'_, i32>, a: ArrayArg<'_, i32>) -> () {
        let bytes: Vec<u8> = a.0.iter().map(|&x| u8::try_from(x.clamp(0, 255)).unwrap_or(0)).collect();
        let shape: Vec<i64> = shape.0.iter().map(|&extent| extent.into()).collect();
        if usize::try_from(count_of(&shape)?) != Ok(bytes.len()) {
            return Err(Fault::new("the shape does not fit the picture"));
        }
        write_png(name.0, &shape, &bytes)
    }

    /// Writes frames of height, width and 1 to 4 channels, each shown for some milliseconds, as an animated PNG file.
    write fn ravel_image_write_apng(name: Text<'_>, a: ArrayRef<'_>, ms: i32) -> () {
        match a.as_slice::<u8>() {
            Some(bytes) => write_image(name.0, png_animation(a.shape(), ms, bytes)),
            None => Err(Fault::new("a picture consists of bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_survive() {
        for channels in 1..=4 {
            let bytes: Vec<u8> = (0..5 * 3 * channels).map(|k| (k * 37 % 256) as u8).collect();
            let image = png_image(5, 3, i64::from(channels), &bytes).expect("valid");
            assert_eq!(parse(&image), Ok(([5, 3, i64::from(channels)], bytes)));
        }
        assert!(png_image(0, 3, 1, &[]).is_err());
        assert!(png_image(1, 1, 5, &[0; 5]).is_err());
    }

    /// The animation of a file: its frames, and for how long the last of them is shown.
    fn parse_animation(image: &[u8]) -> (u32, u32, Vec<Vec<u8>>, (u16, u16)) {
        let mut reader = Decoder::new(Cursor::new(image)).read_info().expect("valid");
        let control = *reader.info().animation_control().expect("animated");
        let mut frames = Vec::new();
        for _ in 0..control.num_frames {
            let mut frame = vec![0; reader.output_buffer_size().expect("small")];
            reader.next_frame(&mut frame).expect("valid");
            frames.push(frame);
        }
        let shown = reader.info().frame_control().expect("animated");
        (control.num_frames, control.num_plays, frames, (shown.delay_num, shown.delay_den))
    }

    #[test]
    fn animations_survive() {
        for (count, channels) in [(1, 3), (2, 1), (4, 4)] {
            let bytes: Vec<u8> = (0..count * 5 * 3 * channels).map(|k| (k * 37 % 251) as u8).collect();
            let shape = [count as i64, 5, 3, channels as i64];
            let image = png_animation(&shape, 40, &bytes).expect("valid");
            let frames: Vec<Vec<u8>> = bytes.chunks(5 * 3 * channels).map(<[u8]>::to_vec).collect();
            assert_eq!(parse(&image), Ok(([5, 3, channels as i64], frames[0].clone())));
            assert_eq!(parse_animation(&image), (count as u32, 0, frames, (40, 1000)));
        }
        for (shape, ms, reason) in [
            (&[0, 2, 2, 3][..], 40, "0 frames"),
            (&[i64::MAX, 2, 2, 3], 40, "frames cannot"),
            (&[1, 0, 2, 3], 40, "0 by 2 points"),
            (&[1, 2, 0, 3], 40, "2 by 0 points"),
            (&[1, 2, 2, 0], 40, "not 0"),
            (&[1, 2, 2, 5], 40, "not 5"),
            (&[1, 2, 2], 40, "4 axes, not 3"),
            (&[1, 2, 2, 3], -1, "not -1"),
            (&[1, 2, 2, 3], 65536, "not 65536"),
            // A frame is missing.
            (&[2, 2, 2, 3], 40, ""),
        ] {
            let refusal = png_animation(shape, ms, &[0; 12]);
            assert!(refusal.as_ref().is_err_and(|why| why.contains(reason)), "{refusal:?}");
        }
    }

    #[test]
    fn portable_maps() {
        let gray = Ok(([1, 3, 1], vec![0, 128, 255]));
        assert_eq!(parse(b"P2 # a comment\n3 1\n255\n0 128 255"), gray);
        assert_eq!(parse(b"P5\n3 1\n255\n\x00\x80\xff"), gray);
        assert_eq!(parse(b"P5\n#x\n3 1 65535\n\x00\x00\x80\x80\xff\xff"), gray);
        assert_eq!(parse(b"P3 1 1 1 0 1 1"), Ok(([1, 1, 3], vec![0, 255, 255])));
        assert_eq!(parse(b"P6 1 1 255\n\x01\x02\x03"), Ok(([1, 1, 3], vec![1, 2, 3])));
        assert_eq!(parse(b"P5 0 4 255\n"), Ok(([4, 0, 1], vec![])));
    }

    #[test]
    fn damaged_pictures_are_refused() {
        let good = png_image(4, 4, 3, &[7; 48]).expect("valid");
        for length in 0..good.len() {
            assert!(parse(&good[..length]).is_err(), "{length} bytes were accepted");
        }
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 0x10;
            assert!(parse(&bad).is_err(), "byte {place} may be wrong");
        }
        for (bytes, reason) in [
            (&b"P5\n3 1\n255\n\x00\x80"[..], "is truncated"),
            (b"P5\n3", "the height is missing"),
            (b"P5\n3 x\n", "no number in place of the height"),
            (b"P2 1 1 255 256", "the value 256"),
            (b"P2 1 1 0 0", "values up to 0"),
            (b"P2 9999999999 9999999999 255 0", "impossible size"),
            (b"P6 99999 99999 255\n0", "is truncated"),
            (b"P4 1 1 0", "PBM"),
            (b"GIF89a", "neither"),
            (b"", "empty"),
        ] {
            assert!(parse(bytes).is_err_and(|why| why.contains(reason)), "{:?}", parse(bytes));
        }
        // A header that announces 2^31-1 points on each side, with its check sum.
        let mut bomb = good;
        bomb[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        let mut sum = flate2::Crc::new();
        sum.update(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&sum.sum().to_be_bytes());
        assert!(parse(&bomb).is_err_and(|why| why.contains("cannot hold so many")), "{:?}", parse(&bomb));
    }
}
