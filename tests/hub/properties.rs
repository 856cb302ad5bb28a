//! What holds for any facts in any order.

use facts::event::Batch;
use fanout::Change;
use hub::{HubSettings, sequence::TailWindow};
use proptest::{prelude::*, sample::Index};

use crate::{
    bench::{Bench, SETTINGS},
    facts::{batches, single_facts},
    json::content,
};

proptest! {
    /// At any moment, applying every update to the first image gives the current image.
    #[test]
    fn updates_add_up_to_the_image(batches in batches(40), looks in any::<u64>()) {
        let mut bench = Bench::new(SETTINGS);
        for (number, batch) in batches.iter().enumerate() {
            bench.apply(batch);
            if looks >> (number % 64) & 1 == 1 {
                bench.check_images();
            }
        }
        bench.tick(false);
        bench.check_images();
        bench.tick(true);
        bench.check_images();
    }

    /// From every sequence, a reader that resumes gets what it missed, however small the parts.
    #[test]
    fn resumed_updates_add_up_to_the_image(batches in batches(30), bytes_max in 1..4000_usize) {
        let mut bench = Bench::new(SETTINGS);
        batches.iter().for_each(|batch| drop(bench.apply(batch)));
        for (name, head) in bench.heads() {
            for from in 0..=head {
                prop_assert!(bench.check_resume(&name, from, bytes_max), "{} {}", name, from);
            }
        }
    }

    /// The window is bounded: all positions before it are refused, and all in it are honoured.
    #[test]
    fn tail_window_has_one_boundary(batches in batches(30), bytes in 500..20_000_usize) {
        let window = TailWindow { bytes, ..SETTINGS.window };
        let mut bench = Bench::new(HubSettings { window, ..SETTINGS });
        batches.iter().for_each(|batch| drop(bench.apply(batch)));
        for (name, head) in bench.heads() {
            let honoured = (0..=head).map(|from| bench.check_resume(&name, from, usize::MAX));
            let honoured: Vec<bool> = honoured.collect();
            prop_assert!(honoured.is_sorted() && honoured[head], "{} {:?}", name, honoured);
        }
    }

    /// A repeated fact changes nothing.
    #[test]
    fn facts_are_absolute(batches in single_facts(60)) {
        let mut bench = Bench::new(SETTINGS);
        for batch in &batches {
            bench.apply(batch);
            let (changes, _) = bench.apply(batch);
            prop_assert!(changes.is_empty(), "{:?} again: {:?}", batch, frames(&changes));
        }
    }

    /// The same facts make the same changes with the same numbers, whenever they are received: a
    /// demo that resumes after a restart continues under its epoch.
    #[test]
    fn changes_depend_only_on_the_facts(
        batches in batches(60),
        keep_us in 0..3_600_000_000_i64,
        matches_max in 2..5_usize,
        later in any::<Index>(),
    ) {
        let settings = HubSettings { ended_keep_us: keep_us, matches_max, ..SETTINGS };
        let mut benches = [Bench::new(settings), Bench::new(settings)];
        for batch in &batches {
            benches[1].now += later.index(1_000_000) as i64;
            let [one, other] = benches.each_mut().map(|bench| {
                let (changes, errors) = bench.apply(batch);
                (frames(&changes), errors)
            });
            prop_assert_eq!(one, other);
        }
        benches.iter_mut().for_each(Bench::check_images);
    }
}

/// The content of changes without their timestamps.
fn frames(changes: &[Change]) -> Vec<String> {
    let frame = |change: &Change| match change {
        Change::Opened(publication) | Change::Published(_, publication) => {
            content(publication.frame())
        }
        Change::Closed(channel) => format!("{} closed", channel.name),
    };
    changes.iter().map(frame).collect()
}

/// A batch that changes nothing leaves all images unchanged.
#[test]
fn empty_batch_changes_nothing() {
    let mut bench = Bench::new(SETTINGS);
    let (changes, errors) = bench.apply(&Batch::default());
    assert!(changes.is_empty() && errors.is_empty());
    bench.check_images();
}
