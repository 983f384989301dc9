//! Mutated inputs: whatever the bytes, a parser ends soon, does not panic, and takes no more memory than is promised.

use std::time::{Duration, Instant};

use git_checkpoint::formats::{File, System, detect};

use super::all;

/// A small generator of numbers (SplitMix64, published constants), so that a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).expect("below an end of that kind")
    }
}

/// Pieces that parsers look for.
const PIECES: [&str; 24] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    "|",
    "\n",
    "**",
    "# ",
    "```",
    "- ",
    "&a ",
    "*a",
    "\\u0000",
    "null",
    "1e999",
    "-1",
    "\u{feff}",
    "\u{202e}",
    "\u{3000}",
    "\r\n",
    "0001-01-01",
    "99999999999999999999",
    ": ",
];

fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(6) {
        let at = numbers.below(bytes.len());
        match numbers.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.below(8),
            1 if !bytes.is_empty() => bytes[at] = u8::try_from(numbers.below(256)).expect("a byte"),
            2 => bytes.truncate(at),
            3 => {
                let piece = PIECES[numbers.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            4 => {
                let end = (at + numbers.below(200)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = numbers.below(bytes.len());
                bytes.splice(to..to, part);
            }
            5 => {
                let end = (at + numbers.below(50)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let part: Vec<u8> = bytes.iter().skip(at).take(8).copied().collect();
                for _ in 0..numbers.below(50) {
                    bytes.splice(at..at, part.iter().copied());
                }
            }
        }
    }
}

/// A piece of the input many times over, up to 1 MiB: what takes the square of its length shows.
fn swell(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let at = numbers.below(bytes.len());
    let part: Vec<u8> = bytes.iter().skip(at).take(1 + numbers.below(300)).copied().collect();
    let many = part
        .iter()
        .copied()
        .cycle()
        .take(if part.is_empty() { 0 } else { 1 << 20 });
    let rest = bytes.split_off(at);
    bytes.extend(many.collect::<Vec<u8>>());
    bytes.extend(rest);
}

/// The most memory this whole process had since the last call of [`forget`], in KiB. Only Linux shows.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn forget() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// In the long form the test runs alone, so that the process's memory is the parser's.
#[test]
fn mutated_inputs_end_soon_and_never_panic() {
    let wanted = std::env::vars().find(|(name, _)| name == "CHECKPOINT_MUTATIONS");
    let is_long = wanted.is_some();
    let rounds: usize = wanted.map_or(60, |(_, value)| value.parse().expect("a number"));
    let only = std::env::vars().find(|(name, _)| name == "CHECKPOINT_MUTATIONS_OF");
    let cases = all();
    for system in System::ALL.iter().copied() {
        if only.as_ref().is_some_and(|(_, word)| word != system.word()) {
            continue;
        }
        let own: Vec<_> = cases.iter().filter(|case| case.system == system.word()).collect();
        assert!(!own.is_empty(), "{}", system.word());
        let (mut slowest, mut largest) = (Duration::ZERO, 0);
        for round in 0..rounds {
            let mut numbers = Numbers(round as u64);
            let case = own[numbers.below(own.len())];
            let mut files: Vec<File> = case.files.clone();
            for _ in 0..=numbers.below(2) {
                let at = numbers.below(files.len());
                mutate(&mut files[at].bytes, &mut numbers);
                if numbers.below(50) == 0 {
                    swell(&mut files[at].bytes, &mut numbers);
                }
            }
            if is_long {
                forget();
            }
            let begun = Instant::now();
            // Detected or named by the user: both ways lead here.
            let detected = files.iter().filter_map(detect).count();
            assert!(detected <= files.len());
            let parsed = system.parse(&files);
            let took = begun.elapsed();
            if is_long {
                let most = memory().unwrap_or_default();
                assert!(most < 256 << 10, "{} round {round}: {most} KiB", system.word());
                largest = largest.max(most);
            }
            // A debug build next to other tests; what must not be is time that grows faster than the input.
            assert!(
                took < Duration::from_secs(5),
                "{} round {round}: {took:?}",
                system.word()
            );
            slowest = slowest.max(took);
            // What came out can be written down.
            assert!(serde_json::to_vec(&parsed).is_ok());
        }
        println!(
            "{}: {rounds} mutated inputs, slowest {slowest:?}, most memory {largest} KiB",
            system.word()
        );
    }
}
