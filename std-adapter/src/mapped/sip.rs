//! `SipHash` 2-4 (Aumasson and Bernstein, 2012): a hash whose collisions cannot be chosen without knowing its two
//! secret words. The hashers of `std` may change with the compiler; programs that share a slab must agree.

pub(super) fn sip_hash(secret: [u64; 2], bytes: &[u8]) -> u64 {
    let [k0, k1] = secret;
    let mut state = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut absorb = |word: u64| {
        state[3] ^= word;
        round(&mut state);
        round(&mut state);
        state[0] ^= word;
    };
    let words = bytes.chunks_exact(8);
    let rest = words.remainder().iter().rev();
    for word in words {
        absorb(u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    let rest = rest.fold(0, |word, byte| word << 8 | u64::from(*byte));
    absorb(rest | (bytes.len() as u64) << 56);
    state[2] ^= 0xFF;
    for _ in 0..4 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

#[inline]
fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

    /// From the paper, and from its reference implementation.
    #[test]
    fn the_published_vectors_come_out() {
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(sip_hash(SECRET, &bytes), 0xa129_ca61_49be_45e5);
        assert_eq!(sip_hash(SECRET, b""), 0x726f_db47_dd0e_0e31);
        assert_eq!(sip_hash(SECRET, &bytes[..8]), 0x93f5_f579_9a93_2462);
    }
}
