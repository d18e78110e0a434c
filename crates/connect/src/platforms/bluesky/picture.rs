//! Pictures made small enough for every server of the network.

use std::io::Cursor;

use bytes::Bytes;
use campanile_model::publish::{Class, Failure};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, RgbImage};
use tokio::sync::Semaphore;

/// Servers that are not of this year take no more than a million bytes.
pub(super) const MOST_BYTES: usize = 999_000;
/// What one picture may need while it is unpacked: 64 million pixels of two bytes a channel.
const MOST_MEMORY: u64 = 512 << 20;
const MOST_SIDE: u32 = 16_384;
/// Longest side and quality, tried one after the other until the picture is small enough.
const STEPS: [(u32, u8); 7] =
    [(2000, 90), (2000, 80), (2000, 70), (1600, 70), (1200, 70), (800, 70), (500, 60)];

/// Pictures are unpacked one at a time, so that their number does not multiply the memory.
static UNPACKING: Semaphore = Semaphore::const_new(1);

/// A picture that can be uploaded.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) content: Bytes,
    pub(super) media_type: &'static str,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// The picture as it is where it is small and upright, otherwise one like it.
pub(super) async fn fit(content: Bytes) -> Result<Picture, Failure> {
    if content.len() <= MOST_BYTES
        && let Some(picture) = keep(&content).map_err(|error| unreadable(&error))?
    {
        return Ok(picture);
    }
    let permit = UNPACKING.acquire().await;
    let work = tokio::task::spawn_blocking(move || {
        // Held by the work, which goes on even when nobody waits for it any more.
        let _permit = permit;
        convert(&content)
    });
    match work.await {
        Ok(outcome) => outcome.map_err(|error| unreadable(&error)),
        Err(_) => {
            Err(Failure::new(Class::Rejected, "picture_unreadable", "the picture is damaged"))
        }
    }
}

fn unreadable(error: &ImageError) -> Failure {
    let message = format!("the picture cannot be read: {error}");
    Failure::new(Class::Rejected, "picture_unreadable", message)
}

fn open(content: &[u8]) -> Result<(impl ImageDecoder, ImageFormat), ImageError> {
    let mut reader = ImageReader::new(Cursor::new(content)).with_guessed_format()?;
    reader.limits(limits());
    let format = reader.format().unwrap_or(ImageFormat::Jpeg);
    Ok((reader.into_decoder()?, format))
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MOST_SIDE);
    limits.max_image_height = Some(MOST_SIDE);
    limits.max_alloc = Some(MOST_MEMORY);
    limits
}

/// The file itself, if its pixels already lie the way they are shown: not every reader turns
/// a picture that says of itself that it lies on its side.
fn keep(content: &Bytes) -> Result<Option<Picture>, ImageError> {
    let (mut decoder, format) = open(content)?;
    if decoder.orientation()? != Orientation::NoTransforms {
        return Ok(None);
    }
    let (width, height) = decoder.dimensions();
    let media_type = format.to_mime_type();
    Ok(Some(Picture { content: content.clone(), media_type, width, height }))
}

fn convert(content: &[u8]) -> Result<Picture, ImageError> {
    let (mut decoder, _) = open(content)?;
    limits().reserve(decoder.total_bytes())?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    let mut smallest = None;
    for (side, quality) in STEPS {
        if image.width().max(image.height()) > side {
            image = image.resize(side, side, FilterType::CatmullRom);
        }
        let picture = encode(&image, quality)?;
        if picture.content.len() <= MOST_BYTES {
            return Ok(picture);
        }
        smallest = Some(picture);
    }
    let too_large =
        image::error::LimitError::from_kind(image::error::LimitErrorKind::InsufficientMemory);
    smallest.ok_or(ImageError::Limits(too_large))
}

fn encode(image: &DynamicImage, quality: u8) -> Result<Picture, ImageError> {
    let opaque = on_white(image);
    let mut content = Vec::new();
    JpegEncoder::new_with_quality(&mut content, quality).encode_image(&opaque)?;
    let (width, height) = opaque.dimensions();
    Ok(Picture { content: content.into(), media_type: "image/jpeg", width, height })
}

/// What is transparent would otherwise turn black.
fn on_white(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let image = image.to_rgba8();
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0;
        let blend = |channel: u8| {
            let (channel, alpha) = (u32::from(channel), u32::from(alpha));
            u8::try_from((channel * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX)
        };
        image::Rgb([blend(red), blend(green), blend(blue)])
    })
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    fn png(image: &DynamicImage) -> Bytes {
        let mut content = Cursor::new(Vec::new());
        image.write_to(&mut content, ImageFormat::Png).unwrap();
        content.into_inner().into()
    }

    /// Nothing that could be compressed.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state: u32 = 1;
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            image::Rgb([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8])
        }))
    }

    #[tokio::test]
    async fn a_small_picture_stays_as_it_is() {
        let content = png(&noise(20, 10));

        let picture = fit(content.clone()).await.unwrap();

        assert_eq!(picture.content, content);
        assert_eq!((picture.media_type, picture.width, picture.height), ("image/png", 20, 10));
    }

    #[tokio::test]
    async fn a_large_picture_is_made_to_fit() {
        let content = png(&noise(1400, 350));
        assert!(content.len() > 1_000_000);

        let picture = fit(content).await.unwrap();

        assert!(picture.content.len() <= MOST_BYTES, "{}", picture.content.len());
        assert_eq!(picture.media_type, "image/jpeg");
        assert_eq!(picture.width / picture.height, 4);
        let (decoder, format) = open(&picture.content).unwrap();
        assert_eq!(
            (decoder.dimensions(), format),
            ((picture.width, picture.height), ImageFormat::Jpeg)
        );
    }

    #[test]
    fn what_is_transparent_becomes_white() {
        let clear = DynamicImage::ImageRgba8(RgbaImage::from_pixel(2, 2, Rgba([0, 0, 0, 0])));
        let half = DynamicImage::ImageRgba8(RgbaImage::from_pixel(2, 2, Rgba([0, 0, 0, 128])));

        assert_eq!(on_white(&clear).get_pixel(0, 0).0, [255, 255, 255]);
        assert_eq!(on_white(&half).get_pixel(0, 0).0, [127, 127, 127]);
    }

    #[tokio::test]
    async fn a_picture_that_lies_on_its_side_is_put_upright() {
        let mut jpeg = Vec::new();
        JpegEncoder::new(&mut jpeg).encode_image(&noise(16, 8)).unwrap();
        // An Exif block that says: turn right by 90 degrees.
        let exif = b"\xff\xe1\x00\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let turned = [&jpeg[..2], exif, &jpeg[2..]].concat();

        let picture = fit(turned.into()).await.unwrap();

        assert_eq!((picture.width, picture.height), (8, 16));
        assert!(keep(&picture.content).unwrap().is_some());
    }

    #[tokio::test]
    async fn what_is_no_picture_is_refused() {
        for content in [&b"hello"[..], b"\x89PNG\r\n\x1a\n", b"", b"GIF89a"] {
            let failure = fit(Bytes::from_static(content)).await.unwrap_err();

            assert_eq!(
                (failure.class, failure.code.as_str()),
                (Class::Rejected, "picture_unreadable")
            );
        }
    }

    #[tokio::test]
    async fn a_picture_that_claims_to_be_huge_is_not_unpacked() {
        let mut content = png(&noise(4, 4)).to_vec();
        // The header says 60,000 by 60,000; its checksum is right.
        content[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        let checksum = crc(&content[12..29]);
        content[29..33].copy_from_slice(&checksum.to_be_bytes());

        let failure = fit(content.into()).await.unwrap_err();

        assert_eq!(failure.class, Class::Rejected);
    }

    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0_u32, |mut crc, byte| {
            crc ^= u32::from(*byte);
            (0..8).for_each(|_| crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()));
            crc
        })
    }
}
