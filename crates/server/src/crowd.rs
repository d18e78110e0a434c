//! So many at once, and so many of them for one and the same.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Counts who is inside, in all and by whom they came.
pub(crate) struct Crowd<K> {
    most: usize,
    most_of_each: usize,
    inside: Mutex<Inside<K>>,
}

struct Inside<K> {
    all: usize,
    of_each: HashMap<K, usize>,
}

impl<K: Hash + Eq + Clone> Crowd<K> {
    pub(crate) fn new(most: usize, most_of_each: usize) -> Arc<Self> {
        let inside = Mutex::new(Inside { all: 0, of_each: HashMap::new() });
        Arc::new(Self { most, most_of_each, inside })
    }

    /// A place until it is dropped; `None` where there is no room.
    pub(crate) fn enter(self: &Arc<Self>, who: &K) -> Option<Place<K>> {
        let mut inside = self.lock();
        let own = inside.of_each.get(who).copied().unwrap_or(0);
        if inside.all >= self.most || own >= self.most_of_each {
            return None;
        }
        inside.all += 1;
        inside.of_each.insert(who.clone(), own + 1);
        Some(Place { crowd: self.clone(), who: who.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Inside<K>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Place<K: Hash + Eq + Clone> {
    crowd: Arc<Crowd<K>>,
    who: K,
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        let mut inside = self.crowd.lock();
        inside.all -= 1;
        if let Some(own) = inside.of_each.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                inside.of_each.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cannot_take_the_room_of_all() {
        let crowd = Crowd::new(3, 2);
        let first = crowd.enter(&"a");
        let second = crowd.enter(&"a");

        assert!(first.is_some() && second.is_some());
        assert!(crowd.enter(&"a").is_none());
        let other = crowd.enter(&"b");
        assert!(other.is_some());
        assert!(crowd.enter(&"c").is_none());
        drop(first);
        assert!(crowd.enter(&"a").is_some());
    }
}
