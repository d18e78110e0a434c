//! The checksum that guards PNG chunks (CRC-32, ISO 3309).

const TABLE: [u32; 256] = table();

pub(crate) struct Crc(u32);

impl Crc {
    pub(crate) fn new() -> Self {
        Self(!0)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = TABLE[usize::from(self.0 as u8 ^ byte)] ^ (self.0 >> 8);
        }
    }

    pub(crate) fn value(&self) -> u32 {
        !self.0
    }
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < table.len() {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_check_value() {
        let mut crc = Crc::new();
        crc.add(b"123456789");
        assert_eq!(crc.value(), 0xCBF4_3926);
    }
}
