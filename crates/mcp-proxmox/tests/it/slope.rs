//! Whether memory grows over a run, told from its quarters: a single figure says little, since an allocator keeps what
//! it once had.

/// Fewer figures than this say nothing of a slope.
const FEW: usize = 12;

/// Figures in KiB, in the order in which they were taken.
#[derive(Debug, Default)]
pub struct Slope(Vec<u64>);

impl Slope {
    pub fn note(&mut self, kibibytes: u64) {
        self.0.push(kibibytes);
    }

    /// The medians of the quarters. Nothing where there are too few figures.
    fn quarters(&self) -> Option<[u64; 4]> {
        if self.0.len() < FEW {
            return None;
        }
        let median = |nth: usize| {
            let (from, to) = (self.0.len() * nth / 4, self.0.len() * (nth + 1) / 4);
            let mut part = self.0[from..to].to_vec();
            part.sort_unstable();
            part[part.len() / 2]
        };
        Some([0, 1, 2, 3].map(median))
    }

    /// What is left behind by everything that is done again and again makes each quarter larger than the one before.
    /// Says what there was. An allocator may keep or give back `held` KiB of what single calls take.
    pub fn is_flat(&self, held: u64) -> String {
        let Some([first, second, third, last]) = self.quarters() else {
            return format!("{} figures of memory are too few for a slope", self.0.len());
        };
        assert!(last <= first + first / 20 + held, "{first} KiB grew to {last} KiB");
        format!("{first}, {second}, {third}, {last} KiB in the quarters of the run")
    }
}

#[test]
#[should_panic(expected = "grew to")]
fn memory_that_grows_a_little_all_the_time_is_seen() {
    let mut slope = Slope::default();
    (0..100).for_each(|nth| slope.note(20_000 + nth * 30));
    slope.is_flat(512);
}

#[test]
fn memory_that_goes_up_and_down_is_flat() {
    let mut slope = Slope::default();
    (0..100).for_each(|nth| slope.note(20_000 + (nth * 7919) % 1500));
    slope.is_flat(512);
    assert_eq!(Slope::default().quarters(), None);
}
