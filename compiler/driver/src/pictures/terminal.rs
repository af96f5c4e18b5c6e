//! What a terminal can show, as far as its environment tells.

use ravel_runtime::standard::Screen;

/// The variable that says how pictures are shown.
pub const SETTING: &str = "RAVEL_PICTURES";

/// Characters where nobody knows the screen; in a file or a pipe there may be more lines.
const COLUMNS: usize = 80;
const ROWS: usize = 24;
const ROWS_OF_FILES: usize = 40;
/// Points of a character where the terminal does not say.
const CELL: (usize, usize) = (8, 16);

/// By what pictures are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Medium {
    Kitty,
    ITerm,
    Sixel,
    /// Characters whose halves are points.
    Blocks,
    Ascii,
}

/// Colours of characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colors {
    None,
    /// The 256 of xterm.
    Palette,
    All,
}

/// How pictures and plots are shown, and the room for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    pub medium: Medium,
    pub colors: Colors,
    pub columns: usize,
    pub rows: usize,
    /// Width and height of a character in points.
    cell: (usize, usize),
}

impl Terminal {
    /// Chooses by the environment, of which `variable` gives the texts; `screen` is none for files and pipes.
    ///
    /// # Errors
    /// The setting has a value that nobody knows.
    pub fn detect(screen: Option<Screen>, variable: impl Fn(&str) -> Option<String>) -> Result<Terminal, String> {
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        let is_terminal = screen.is_some();
        let has = |name: &str| variable(name).is_some();
        let term = variable("TERM").unwrap_or_default();
        let (medium, colors) = match () {
            () if term == "dumb" => (Medium::Ascii, Colors::None),
            () if !is_terminal || has("NO_COLOR") => (Medium::Blocks, Colors::None),
            () => (graphics(&term, &variable), character_colors(&term, &variable)),
        };
        let medium = match variable(SETTING).as_deref() {
            None | Some("auto") => medium,
            Some("kitty") => Medium::Kitty,
            Some("iterm") => Medium::ITerm,
            Some("sixel") => Medium::Sixel,
            Some("blocks") => Medium::Blocks,
            Some("ascii") => Medium::Ascii,
            Some(other) => {
                let known = "kitty, iterm, sixel, blocks, ascii or auto";
                return Err(format!("{SETTING} is `{other}`; it can be {known}"));
            }
        };
        let known = screen.unwrap_or_default();
        let or = |known: usize, otherwise: usize| if known == 0 { otherwise } else { known };
        let columns = variable("COLUMNS").and_then(|text| text.parse().ok()).unwrap_or(0);
        let columns = or(or(known.columns, columns), COLUMNS);
        let rows = if is_terminal { or(known.rows, ROWS) } else { ROWS_OF_FILES };
        let cell = |points: usize, characters: usize, otherwise: usize| {
            or(points.checked_div(characters).unwrap_or(0), otherwise)
        };
        let cell = (cell(known.width, known.columns, CELL.0), cell(known.height, known.rows, CELL.1));
        Ok(Terminal { medium, colors, columns: columns.clamp(1, 1000), rows: rows.clamp(1, 1000), cell })
    }

    /// Height and width in points that leave room for the caption and the next prompt.
    pub(super) fn points(&self) -> (usize, usize) {
        (self.picture_rows() * self.cell.1, self.columns * self.cell.0)
    }

    /// Lines for a picture.
    pub(super) fn picture_rows(&self) -> usize {
        self.rows.saturating_sub(2).max(1)
    }

    /// Whether pictures have colours.
    pub(super) fn has_color(&self) -> bool {
        match self.medium {
            Medium::Kitty | Medium::ITerm | Medium::Sixel => true,
            Medium::Blocks => self.colors != Colors::None,
            Medium::Ascii => false,
        }
    }
}

fn graphics(term: &str, variable: &impl Fn(&str) -> Option<String>) -> Medium {
    let program = variable("TERM_PROGRAM").unwrap_or_default();
    // Multiplexers draw characters only, whatever terminal they run in.
    if variable("TMUX").is_some() || term.starts_with("tmux") || term.starts_with("screen") {
        return Medium::Blocks;
    }
    match (term, program.as_str()) {
        (_, "iTerm.app" | "WezTerm" | "mintty") => Medium::ITerm,
        ("xterm-kitty" | "xterm-ghostty", _) | (_, "ghostty") => Medium::Kitty,
        _ if variable("KITTY_WINDOW_ID").is_some() => Medium::Kitty,
        _ if term.starts_with("foot") || term.starts_with("mlterm") || term.contains("sixel") => Medium::Sixel,
        _ => Medium::Blocks,
    }
}

fn character_colors(term: &str, variable: &impl Fn(&str) -> Option<String>) -> Colors {
    match variable("COLORTERM").as_deref() {
        Some("truecolor" | "24bit") => Colors::All,
        _ if ["xterm-kitty", "xterm-ghostty"].contains(&term) || term.contains("direct") => Colors::All,
        _ if term.is_empty() || term.starts_with("vt") => Colors::None,
        _ => Colors::Palette,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)]) -> Terminal {
        let screen = Screen { columns: 100, rows: 30, width: 1000, height: 600 };
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, text)| text.to_string());
        Terminal::detect(Some(screen), variable).expect("no wrong setting")
    }

    #[test]
    fn the_environment_says_what_a_terminal_can_show() {
        let medium = |variables: &[(&str, &str)]| detect(variables).medium;
        assert_eq!(medium(&[("TERM", "xterm-kitty")]), Medium::Kitty);
        assert_eq!(medium(&[("TERM", "xterm"), ("KITTY_WINDOW_ID", "1")]), Medium::Kitty);
        assert_eq!(medium(&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")]), Medium::Blocks);
        assert_eq!(medium(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")]), Medium::ITerm);
        assert_eq!(medium(&[("TERM", "foot")]), Medium::Sixel);
        assert_eq!(medium(&[("TERM", "xterm-256color")]), Medium::Blocks);
        assert_eq!(medium(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")]), Medium::Blocks);
        assert_eq!(medium(&[("TERM", "dumb"), ("COLORTERM", "truecolor")]), Medium::Ascii);
        assert_eq!(medium(&[("TERM", "dumb"), (SETTING, "sixel")]), Medium::Sixel);
        assert_eq!(medium(&[("TERM", "foot"), (SETTING, "auto")]), Medium::Sixel);
        let colors = |variables: &[(&str, &str)]| detect(variables).colors;
        assert_eq!(colors(&[("TERM", "xterm")]), Colors::Palette);
        assert_eq!(colors(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]), Colors::All);
        assert_eq!(colors(&[("TERM", "xterm"), ("NO_COLOR", "")]), Colors::Palette);
        assert_eq!(colors(&[("TERM", "xterm"), ("NO_COLOR", "1")]), Colors::None);
        assert_eq!(colors(&[]), Colors::None);
    }

    #[test]
    fn pipes_get_characters_without_color() {
        let pipe = Terminal::detect(None, |name| (name == "TERM").then(|| "xterm-kitty".to_string())).expect("fine");
        assert_eq!((pipe.medium, pipe.colors, pipe.columns), (Medium::Blocks, Colors::None, 80));
        let narrow = Terminal::detect(None, |name| (name == "COLUMNS").then(|| "40".to_string())).expect("fine");
        assert_eq!(narrow.columns, 40);
    }

    #[test]
    fn sizes_that_are_not_known_are_assumed() {
        let size = |screen| {
            let terminal = Terminal::detect(Some(screen), |_| None).expect("fine");
            (terminal.columns, terminal.rows, terminal.points())
        };
        assert_eq!(size(Screen::default()), (80, 24, (22 * 16, 80 * 8)));
        assert_eq!(size(Screen { columns: 100, rows: 30, width: 1000, height: 600 }), (100, 30, (28 * 20, 1000)));
        assert_eq!(size(Screen { columns: 100, rows: 1, ..Screen::default() }).2, (16, 800));
    }

    #[test]
    fn a_wrong_setting_is_refused() {
        let wrong = Terminal::detect(None, |name| (name == SETTING).then(|| "colour".to_string()));
        assert!(wrong.is_err_and(|why| why.starts_with("RAVEL_PICTURES is `colour`; it can be kitty")));
    }
}
