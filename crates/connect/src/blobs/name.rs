//! What a blob may be called.

use object_store::path::Path;

use super::BlobError;

/// Longest name, well within what file systems allow for a path and its parts.
const MAX_LENGTH: usize = 200;

/// Where the blob lies in the storage.
///
/// Only lower-case letters, digits and underscores between single slashes pass, so a name can
/// neither leave the directory nor meet a temporary file, whose names contain a `#`.
pub(super) fn locate(name: &str) -> Result<Path, BlobError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let fits = name.len() <= MAX_LENGTH;
    if fits && name.split('/').all(|part| !part.is_empty() && part.bytes().all(is_plain)) {
        Ok(Path::from(name))
    } else {
        Err(BlobError::BadName { name: name.chars().take(MAX_LENGTH).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_ids_below_ids_are_names() {
        for name in ["a", "_", "0", "ws_1/blob_2", "ws_1/blob_2/thumb_320"] {
            assert_eq!(locate(name).expect("a name").as_ref(), name);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = "a".repeat(MAX_LENGTH + 1);
        let hostile = [
            "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a.b", "A", "a-b",
            "a b", "a\\b", "a\0b", "a\nb", "a#1", "a%2fb", "a:b", "~", "é", "ａ", "C:/a", &long,
        ];
        for name in hostile {
            assert!(matches!(locate(name), Err(BlobError::BadName { .. })), "{name:?}");
        }
    }
}
