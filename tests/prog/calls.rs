// Methods and generic functions that count their own calls, in threads. Built by test_calls.py.
// SPDX-License-Identifier: Apache-2.0
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static MADE: AtomicUsize = AtomicUsize::new(0);
static GREW: AtomicUsize = AtomicUsize::new(0);
static COPIED: AtomicUsize = AtomicUsize::new(0);

pub struct Pile {
    room: Vec<u8>,
}

impl Pile {
    #[inline(never)]
    pub fn make(n: usize) -> Pile {
        MADE.fetch_add(1, Relaxed);
        Pile { room: vec![0; n] }
    }

    #[inline(never)]
    pub fn grow(&mut self, n: usize) {
        GREW.fetch_add(1, Relaxed);
        self.room.resize(n, 1);
    }
}

#[inline(never)]
fn copy_of<T: Clone>(t: &[T]) -> Vec<T> {
    COPIED.fetch_add(1, Relaxed);
    t.to_vec()
}

// Prevents the value from being optimized away.
#[inline(never)]
fn use_it<T>(t: &T) -> *const T {
    t
}

fn work() {
    for i in 0..200 {
        let mut pile = Pile::make(100);
        if i % 2 == 0 {
            pile.grow(300);
        }
        use_it(&pile.room);
    }
}

fn main() {
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(work)).collect();
    for t in threads {
        t.join().unwrap();
    }
    for _ in 0..50 {
        use_it(&copy_of(&[1u8; 30]));
        use_it(&copy_of(&["a"; 30]));
    }
    let of = |n: &AtomicUsize| n.load(Relaxed);
    println!("{{\"calls\":{{\"make\":{},\"grow\":{},\"copy_of\":{}}}}}", of(&MADE), of(&GREW), of(&COPIED));
}
