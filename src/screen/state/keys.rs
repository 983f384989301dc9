//! Keys, and what they do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Focus, Job, Overlay, ScreenState, Search, Tab, panes};
use crate::{
    render::text::{Text, TextLine},
    serve::{
        CommandLine,
        actions::{ACTIONS, Action, ActionRequest, ActionTarget},
    },
};

/// The most characters that are taken of a pasted text.
const LONGEST_PASTE: usize = 1000;

impl ScreenState {
    /// Acts on a key.
    pub(in crate::screen) fn key(&mut self, key: KeyEvent) {
        self.message = None;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => {
                self.ended = true;
                return;
            }
            KeyCode::Char('z') if is_control => {
                self.suspends = cfg!(unix);
                return;
            }
            _ => {}
        }
        if self.overlay.is_some() {
            self.overlay_key(key);
            return;
        }
        if self.search.as_ref().is_some_and(|search| search.is_typed) {
            self.search_key(key);
            return;
        }
        match key.code {
            KeyCode::Char('q') => self.ended = true,
            KeyCode::Esc => self.back(),
            KeyCode::Char('?') | KeyCode::F(1) => self.overlay = Some(Overlay::Help { scroll: 0 }),
            KeyCode::Char('/') => {
                let search = self.search.get_or_insert_with(Search::default);
                search.is_typed = true;
                self.focus = Focus::Checkpoints;
            }
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(2),
            KeyCode::Right | KeyCode::Enter | KeyCode::Char('l') => {
                self.focus = match self.focus {
                    Focus::Sessions => Focus::Checkpoints,
                    _ => Focus::Detail,
                };
            }
            KeyCode::Left | KeyCode::Char('h') => {
                self.focus = match self.focus {
                    Focus::Detail => Focus::Checkpoints,
                    _ => Focus::Sessions,
                };
            }
            KeyCode::Char(digit @ '1'..='4') => {
                self.tab = Tab::ALL[usize::from(digit as u8 - b'1')].0;
                if !panes(self.width, self.focus).detail {
                    self.focus = Focus::Detail;
                }
                self.scroll = 0;
                self.detail = Text::new();
                self.read_detail();
            }
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.go(self.page_step()),
            KeyCode::PageUp | KeyCode::Char('b') => self.go(-self.page_step()),
            KeyCode::Home | KeyCode::Char('g') => self.go(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.go(isize::MAX),
            KeyCode::Char('a') => {
                let items: Vec<_> = ACTIONS
                    .iter()
                    .filter(|action| action.target != ActionTarget::Item)
                    .collect();
                self.overlay = Some(Overlay::Menu { items, at: 0 });
            }
            KeyCode::Char('m') => {
                self.marked = self.selected();
                self.message = Some(TextLine::plain(
                    "Marked. Choose another checkpoint and press 'c' to compare.",
                ));
            }
            KeyCode::Char('c') => self.compare(),
            KeyCode::Char(letter) => {
                if let Some(action) = by_key(letter) {
                    self.begin(action);
                }
            }
            _ => {}
        }
    }

    /// Takes a text that was pasted: its first line, where one is typed. Anywhere else its letters would be keys.
    pub(in crate::screen) fn paste(&mut self, text: &str) {
        let line = text.trim_start().split(['\r', '\n']).next().unwrap_or_default();
        let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST_PASTE).collect();
        if let Some(Overlay::Input { text, .. }) = &mut self.overlay {
            text.push_str(&line);
        } else if self.overlay.is_none()
            && let Some(search) = self.search.as_mut().filter(|search| search.is_typed)
            && !line.is_empty()
        {
            search.words.push_str(&line);
            self.find();
        }
    }

    /// Searches for the words as they are.
    fn find(&mut self) {
        let Some(search) = &mut self.search else { return };
        search.hits.clear();
        search.found = None;
        if search.words.trim().is_empty() {
            self.detail = Text::new();
        } else {
            let words = search.words.clone();
            self.jobs.push(Job::Search { words });
        }
    }

    fn page_step(&self) -> isize {
        isize::try_from(self.page.max(2) - 1).unwrap_or(1)
    }

    /// The next pane.
    fn turn(&mut self, steps: usize) {
        const ORDER: [Focus; 3] = [Focus::Sessions, Focus::Checkpoints, Focus::Detail];
        let at = ORDER.iter().position(|focus| *focus == self.focus).unwrap_or(0);
        self.focus = ORDER[(at + steps) % ORDER.len()];
    }

    /// Cancels work, else leaves the search, else goes to the pane before.
    fn back(&mut self) {
        if self.work.is_some() {
            self.cancels = true;
            self.message = Some(TextLine::plain("Cancelled"));
        } else if self.focus == Focus::Detail {
            self.focus = Focus::Checkpoints;
        } else if self.search.take().is_some() {
            self.scroll = 0;
            self.read_detail();
        } else {
            self.focus = Focus::Sessions;
        }
    }

    fn go(&mut self, by: isize) {
        match self.focus {
            Focus::Sessions => {
                let before = self.session_at;
                self.session_at = moved(before, by, self.sessions.len());
                if self.session_at != before {
                    self.search = None;
                    self.scroll = 0;
                    self.read_checkpoints();
                }
            }
            Focus::Checkpoints => {
                if let Some(search) = &mut self.search {
                    search.at = moved(search.at, by, search.hits.len());
                } else {
                    self.go_checkpoint(by);
                }
                self.scroll = 0;
                self.read_detail();
            }
            Focus::Detail => {
                let last = self.detail.lines().len().saturating_sub(self.page.max(1));
                self.scroll = moved(self.scroll, by, last + 1);
            }
        }
    }

    /// Moves over lines that are no checkpoints.
    fn go_checkpoint(&mut self, by: isize) {
        let count = self.checkpoints.len();
        let has_id = |at: &usize| self.checkpoints.get(*at).is_some_and(|line| line.id.is_some());
        let target = moved(self.checkpoint_at, by, count);
        let found = if by > 0 {
            (target..count).find(has_id).or_else(|| (0..target).rev().find(has_id))
        } else {
            (0..=target).rev().find(has_id).or_else(|| (target..count).find(has_id))
        };
        self.checkpoint_at = found.unwrap_or(self.checkpoint_at);
        let is_end = self.checkpoints[self.checkpoint_at.min(count)..]
            .iter()
            .skip(1)
            .all(|line| line.id.is_none());
        if by > 0 && is_end && self.has_more {
            self.limit *= 4;
            self.read_checkpoints();
        }
    }

    fn compare(&mut self) {
        let (Some(first), Some(second)) = (self.marked.clone(), self.selected()) else {
            self.message = Some(TextLine::plain(
                "Mark the first checkpoint with 'm', then choose the other one.",
            ));
            return;
        };
        let line = CommandLine::new("compare").selector(Some(&first));
        if let Ok(line) = line.and_then(|line| line.selector(Some(&second))) {
            self.detail = Text::new();
            self.scroll = 0;
            self.focus = Focus::Detail;
            let columns = self.detail_columns();
            self.jobs.push(Job::Detail { line, columns });
        }
    }

    /// Begins an action on what is chosen.
    fn begin(&mut self, action: &'static Action) {
        let checkpoint = self.selected();
        if action.target == ActionTarget::Checkpoint && checkpoint.is_none() {
            self.message = Some(TextLine::plain("Choose a checkpoint first."));
            return;
        }
        let session = match action.target {
            ActionTarget::Session => self.session().map(|row| row.session.clone()),
            _ => None,
        };
        let request = ActionRequest {
            action: action.word.to_owned(),
            session,
            checkpoint,
            ..ActionRequest::default()
        };
        if action.field.is_some() {
            self.overlay = Some(Overlay::Input {
                request,
                action,
                text: String::new(),
            });
        } else {
            self.plan(request, action);
        }
    }

    fn act(&mut self, request: ActionRequest, action: &'static Action) {
        self.jobs.push(Job::Act { request });
        self.overlay = None;
        self.message = Some(TextLine::plain(format!("{} ...", action.title)));
    }

    fn plan(&mut self, request: ActionRequest, action: &'static Action) {
        let columns = usize::from(self.width).saturating_sub(8).max(20);
        self.jobs.push(Job::Plan {
            request: request.clone(),
            columns,
        });
        self.overlay = Some(Overlay::Plan {
            request,
            action,
            run: None,
            scroll: 0,
        });
    }

    fn overlay_key(&mut self, key: KeyEvent) {
        if key.code == KeyCode::Esc {
            if self.work.is_some() {
                self.cancels = true;
            }
            self.overlay = None;
            return;
        }
        match self.overlay.take() {
            Some(Overlay::Menu { items, at }) => {
                let at = match key.code {
                    KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => (at + 1) % items.len(),
                    KeyCode::Up | KeyCode::Char('k') | KeyCode::BackTab => (at + items.len() - 1) % items.len(),
                    KeyCode::Enter => {
                        self.begin(items[at]);
                        return;
                    }
                    _ => at,
                };
                self.overlay = Some(Overlay::Menu { items, at });
            }
            Some(Overlay::Input {
                mut request,
                action,
                mut text,
            }) => match key.code {
                KeyCode::Enter => {
                    let is_optional = action.field.as_ref().is_some_and(|field| field.optional);
                    if text.trim().is_empty() && !is_optional {
                        self.overlay = Some(Overlay::Input { request, action, text });
                    } else {
                        request.text = Some(text);
                        self.plan(request, action);
                    }
                }
                code => {
                    edit(&mut text, code, key.modifiers);
                    self.overlay = Some(Overlay::Input { request, action, text });
                }
            },
            Some(Overlay::Plan {
                request,
                action,
                run,
                scroll,
            }) => {
                let is_ready = run.as_ref().is_some_and(|run| run.failure.is_none());
                match key.code {
                    KeyCode::Char('y') if is_ready => {
                        self.act(request, action);
                    }
                    // One key more than a held Enter is needed for what takes something away.
                    KeyCode::Enter if is_ready && !action.destroys => {
                        self.act(request, action);
                    }
                    KeyCode::Enter => {
                        self.overlay = Some(Overlay::Plan {
                            request,
                            action,
                            run,
                            scroll,
                        });
                    }
                    KeyCode::Char('n' | 'q') => {}
                    code => {
                        let scroll = scrolled(scroll, code, self.overlay_end).unwrap_or(scroll);
                        self.overlay = Some(Overlay::Plan {
                            request,
                            action,
                            run,
                            scroll,
                        });
                    }
                }
            }
            // Any key that does not scroll closes help and outcomes.
            Some(Overlay::Help { scroll }) => {
                let scroll = scrolled(scroll, key.code, self.overlay_end);
                self.overlay = scroll.map(|scroll| Overlay::Help { scroll });
            }
            Some(Overlay::Outcome {
                text,
                is_failure,
                scroll,
            }) => {
                let scroll = scrolled(scroll, key.code, self.overlay_end);
                self.overlay = scroll.map(|scroll| Overlay::Outcome {
                    text,
                    is_failure,
                    scroll,
                });
            }
            None => {}
        }
    }

    fn search_key(&mut self, key: KeyEvent) {
        let Some(search) = &mut self.search else { return };
        match key.code {
            KeyCode::Esc => {
                self.search = None;
                self.cancels = true;
                self.read_detail();
            }
            KeyCode::Enter => search.is_typed = false,
            KeyCode::Down | KeyCode::Up => {
                search.is_typed = false;
                self.go(if key.code == KeyCode::Down { 1 } else { -1 });
            }
            code => {
                if edit(&mut search.words, code, key.modifiers) {
                    self.find();
                }
            }
        }
    }
}

/// The action of a key.
fn by_key(letter: char) -> Option<&'static Action> {
    let word = match letter {
        's' => "save",
        'r' => "restore",
        'R' => "resume",
        'p' => "restore-paths",
        'A' => "apply",
        'u' => "undo",
        'U' => "redo",
        'f' => "fork",
        'i' => "pin",
        'n' => "rename",
        'D' => "delete",
        'P' => "push",
        _ => return None,
    };
    Action::find(word)
}

/// Keys and their actions, for the help.
pub(in crate::screen) const KEYS: [(&str, &str); 18] = [
    ("arrows, hjkl", "move; left and right change the pane"),
    ("Tab", "next pane"),
    ("1 2 3 4", "record, files, changes since, chat"),
    ("/", "search as you type"),
    ("Esc", "cancel, or back"),
    ("a", "all actions"),
    ("s", "save"),
    ("r  p", "restore all files, or some"),
    ("A", "apply the changes"),
    ("R", "resume the session"),
    ("u  U", "undo, redo"),
    ("f", "fork a session"),
    ("m  c", "mark a checkpoint, compare with it"),
    ("i", "pin the checkpoint"),
    ("n  D", "rename, delete the session"),
    ("P", "push the session"),
    ("?", "these keys"),
    ("q", "quit"),
];

/// Changes a line of text by a key; whether it did.
fn edit(text: &mut String, code: KeyCode, modifiers: KeyModifiers) -> bool {
    let before = text.len();
    match code {
        KeyCode::Char('u') if modifiers.contains(KeyModifiers::CONTROL) => text.clear(),
        KeyCode::Char('w') if modifiers.contains(KeyModifiers::CONTROL) => {
            let end = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
            text.truncate(end);
        }
        KeyCode::Char(letter) if !modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => text.push(letter),
        KeyCode::Backspace => {
            text.pop();
        }
        _ => {}
    }
    text.len() != before
}

/// Where a key scrolls to in what can be scrolled so far; `None` for another key, and where there is nothing to scroll.
fn scrolled(at: usize, code: KeyCode, end: usize) -> Option<usize> {
    let by = match code {
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::PageDown | KeyCode::Char(' ') => 8,
        KeyCode::PageUp => -8,
        _ => return None,
    };
    (end > 0).then(|| moved(at.min(end), by, end + 1))
}

fn moved(at: usize, by: isize, count: usize) -> usize {
    at.saturating_add_signed(by).min(count.saturating_sub(1))
}
