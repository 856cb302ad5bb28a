//! A list of what is kept, with what is known better laid over it.

use std::{iter::Peekable, sync::Arc};

use super::{
    index::{Found, Window},
    rows::Order,
};
use crate::record::Brief;

type Placed<'a> = (Order, &'a Arc<Brief>);

/// Counts two lists, both sorted, as one, and takes what is in the window of it.
pub(super) fn page<'a>(
    kept: impl DoubleEndedIterator<Item = Placed<'a>>,
    news: Vec<Placed<'a>>,
    window: Window,
    newest_first: bool,
) -> Found {
    if newest_first {
        let (kept, news) = (kept.rev().peekable(), news.into_iter().rev().peekable());
        joined(kept, news, window, |kept, news| kept > news)
    } else {
        joined(kept.peekable(), news.into_iter().peekable(), window, |kept, news| kept < news)
    }
}

fn joined<'a>(
    mut kept: Peekable<impl Iterator<Item = Placed<'a>>>,
    mut news: Peekable<impl Iterator<Item = Placed<'a>>>,
    window: Window,
    is_first: impl Fn(Order, Order) -> bool,
) -> Found {
    let mut found = Found { count: 0, briefs: Vec::new() };
    loop {
        let next = match (kept.peek(), news.peek()) {
            (Some((kept_at, _)), Some((news_at, _))) if !is_first(*kept_at, *news_at) => {
                news.next()
            }
            (Some(_), _) => kept.next(),
            (None, _) => news.next(),
        };
        let Some((_, brief)) = next else { return found };
        if found.count >= window.offset && found.briefs.len() < window.limit {
            found.briefs.push(Arc::clone(brief));
        }
        found.count += 1;
    }
}
