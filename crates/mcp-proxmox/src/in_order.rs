//! Sorting, compiled once.
//!
//! The standard library's sorting is 5 KB of program for each kind of thing and each order, of which there are some
//! fifty here. So places are sorted instead of things, by an order that is called through a pointer, and the things
//! follow them. A list of ten thousand guests, where time counts, is sorted by the standard library.
//!
//! **Invariant:** what is equal keeps its order.

use std::cmp::Ordering;

/// Things that can be put in order.
pub trait InOrder<T> {
    /// Puts the things in this order.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Puts the things in the order of their keys.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> InOrder<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let places = sorted(self.len(), &mut |a, b| match (self.get(a), self.get(b)) {
            (Some(a), Some(b)) => compare(a, b),
            _ => Ordering::Equal,
        });
        follow(places, &mut |a, b| self.swap(a, b));
    }
}

/// The places of so many things, in order.
fn sorted(n: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..n).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

/// Swaps things until each is where it belongs: the one from the first of these places at the first, and so on.
fn follow(mut places: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for to in 0..places.len() {
        let at = |places: &[usize], place: usize| places.get(place).copied().unwrap_or(place);
        let mut from = at(&places, to);
        // What was at a place that is done has been swapped away from there, perhaps more than once.
        while from < to {
            from = at(&places, from);
        }
        swap(to, from);
        if let Some(place) = places.get_mut(to) {
            *place = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_order_of_the_standard_library(keys in prop::collection::vec(0_u8..9, 0..60)) {
            let mut things: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut wanted = things.clone();
            wanted.sort_by_key(|(key, _)| *key);
            things.order_by_key(|(key, _)| *key);
            prop_assert_eq!(things, wanted);
        }
    }

    #[test]
    fn one_that_goes_from_the_end_to_the_begin_takes_no_longer_than_others() {
        let (n, mut n_swaps, mut n_looks) = (10_000, 0, 0);
        let places: Vec<usize> = std::iter::once(n - 1).chain(0..n - 1).collect();
        let mut things: Vec<usize> = (0..n).collect();
        follow(places, &mut |a, b| {
            n_swaps += 1;
            n_looks += usize::from(a != b);
            things.swap(a, b);
        });
        assert_eq!((n_swaps, things[0], things[1], things[n - 1]), (n, n - 1, 0, n - 2));
        assert!(n_looks <= n);
    }
}
