//! Keys that the service never made.

/// Something that cannot be a key, whatever the store holds.
pub(super) fn malformed_key(number: usize) -> String {
    let mut wrong_sum = unknown_key(number);
    let last = wrong_sum.pop().expect("a key is not empty");
    wrong_sum.push(if last == '0' { '1' } else { '0' });
    match number % 4 {
        0 => wrong_sum,
        1 => unknown_key(number)[..40].to_owned(),
        2 => "nonsense".to_owned(),
        _ => format!("{}00", unknown_key(number)),
    }
}

/// A key with the right checksum that nobody was given.
pub(crate) fn unknown_key(number: usize) -> String {
    let start = format!("camp_live_{number:032}");
    let mut sum = crc32(start.as_bytes());
    let mut digits = Vec::new();
    for _ in 0..6 {
        let digit = u8::try_from(sum % 62).expect("less than 62");
        sum /= 62;
        digits.push(char::from(match digit {
            0..=9 => b'0' + digit,
            10..=35 => b'A' + digit - 10,
            _ => b'a' + digit - 36,
        }));
    }
    start + &digits.iter().rev().collect::<String>()
}

/// CRC-32 as IEEE 802.3 has it, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), step);
    !bytes.iter().fold(u32::MAX, byte)
}

#[test]
fn the_checksum_is_the_one_that_everybody_means() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}
