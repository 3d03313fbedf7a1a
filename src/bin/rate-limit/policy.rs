//! Which limit holds for which path.

use std::str::FromStr;

use rate_limit::core::limit::Limit;
use rate_limit::core::time::Micros;

/// A limit of its own for some paths, written `PATTERN=LIMIT/WINDOW`.
#[derive(Clone, Debug)]
pub struct Route {
    /// A path in which each `*` stands for any text, slashes and nothing at all included.
    pub pattern: String,
    /// What holds there.
    pub limit: Limit,
}

impl FromStr for Route {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("must be PATTERN=LIMIT/WINDOW, as in '/api/*=30/60', {text:?} given");
        let (pattern, numbers) = text.rsplit_once('=').ok_or_else(form)?;
        let (max, window) = numbers.split_once('/').ok_or_else(form)?;
        let (Ok(max), Ok(window)) = (max.parse(), window.parse()) else { return Err(form()) };
        if !pattern.starts_with(['/', '*']) {
            return Err(form());
        }
        let limit = Limit::new(max, window).map_err(|error| format!("limit or window {error}"))?;
        Ok(Self { pattern: pattern.to_owned(), limit })
    }
}

impl Route {
    fn covers(&self, path: &[u8]) -> bool {
        let mut pieces = self.pattern.as_bytes().split(|&byte| byte == b'*');
        let Some(mut rest) = pieces.next().and_then(|first| path.strip_prefix(first)) else {
            return false;
        };
        let Some(last) = pieces.next_back() else { return rest.is_empty() };
        for piece in pieces {
            match memchr::memmem::find(rest, piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

/// The policies: number 0 is the default, the others are the routes in their order.
pub struct Policies {
    default: Limit,
    routes: Vec<Route>,
}

impl Policies {
    /// `routes`, and `default` for every path that none of them covers.
    pub fn new(default: Limit, routes: Vec<Route>) -> Self {
        Self { default, routes }
    }

    /// How many there are, the default included.
    pub fn len(&self) -> usize {
        1 + self.routes.len()
    }

    /// The first route that covers `path`, else the default.
    pub fn of(&self, path: &[u8]) -> usize {
        self.routes.iter().position(|route| route.covers(path)).map_or(0, |at| at + 1)
    }

    /// The limit of a policy.
    pub fn limit(&self, policy: usize) -> Limit {
        policy.checked_sub(1).map_or(self.default, |at| self.routes[at].limit)
    }

    /// What a policy covers, as text.
    pub fn name(&self, policy: usize) -> &str {
        match policy.checked_sub(1) {
            Some(at) => &self.routes[at].pattern,
            None if self.routes.is_empty() => "Every path",
            None => "Every other path",
        }
    }

    /// The longest window of all.
    pub fn longest_window(&self) -> Micros {
        (0..self.len()).map(|policy| self.limit(policy).window()).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, path, covered) in [
            ("/a", "/a", true),
            ("/a", "/a/", false),
            ("/a/*", "/a/", true),
            ("/a/*", "/a/b/c", true),
            ("/a/*", "/a", false),
            ("*.php", "/x/y.php", true),
            ("*.php", "/x/y.phps", false),
            ("/u/*/posts/*/edit", "/u/1/posts/2/edit", true),
            ("/u/*/posts/*/edit", "/u/1/posts/edit", false),
            ("/a*a", "/a", false),
            ("/a*a", "/aa", true),
            ("*", "-", true),
        ] {
            let route = Route::from_str(&format!("{pattern}=1/1")).unwrap();
            assert_eq!(route.covers(path.as_bytes()), covered, "{pattern} {path}");
        }
    }

    #[test]
    fn the_first_route_wins() {
        let routes = ["/a/b=1/1", "/a/*=2/1", "/*=3/1"].map(|text| text.parse().unwrap());
        let policies = Policies::new(Limit::new(4, 1).unwrap(), routes.into());
        for (path, max) in [("/a/b", 1), ("/a/c", 2), ("/b", 3), ("-", 4)] {
            assert_eq!(policies.limit(policies.of(path.as_bytes())).max(), max);
        }
    }

    #[test]
    fn a_route_that_is_none_says_what_one_is() {
        for bad in ["", "/a", "/a=1", "/a=1/", "/a=x/60", "a=1/60", "=1/60", "/a=1/60/60"] {
            assert!(Route::from_str(bad).unwrap_err().contains(&format!("{bad:?} given")), "{bad}");
        }
        assert!(Route::from_str("/a=-1/60").unwrap_err().contains("-1 given"));
        assert!(Route::from_str("/a=1/0").unwrap_err().contains("0 given"));
    }
}
