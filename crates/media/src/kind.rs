//! The media types the service accepts.

/// A media type, known from a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Jpeg,
    Png,
    Webp,
    Gif,
    Mp4,
    Mov,
    Webm,
}

impl Kind {
    pub const ALL: &[Kind] =
        &[Kind::Jpeg, Kind::Png, Kind::Webp, Kind::Gif, Kind::Mp4, Kind::Mov, Kind::Webm];

    pub fn mime(self) -> &'static str {
        match self {
            Kind::Jpeg => "image/jpeg",
            Kind::Png => "image/png",
            Kind::Webp => "image/webp",
            Kind::Gif => "image/gif",
            Kind::Mp4 => "video/mp4",
            Kind::Mov => "video/quicktime",
            Kind::Webm => "video/webm",
        }
    }

    /// The usual file name extension, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Kind::Jpeg => "jpg",
            Kind::Png => "png",
            Kind::Webp => "webp",
            Kind::Gif => "gif",
            Kind::Mp4 => "mp4",
            Kind::Mov => "mov",
            Kind::Webm => "webm",
        }
    }

    /// Understands a `Content-Type` value: letter case and parameters do not matter.
    pub fn from_mime(mime: &str) -> Option<Self> {
        let essence = mime.split(';').next()?.trim();
        Self::ALL.iter().copied().find(|kind| kind.mime().eq_ignore_ascii_case(essence))
    }

    pub fn is_image(self) -> bool {
        matches!(self, Kind::Jpeg | Kind::Png | Kind::Webp | Kind::Gif)
    }
}
