"""Each kind of fault at the borders, the tests that cover it, and inputs of these tests that no report named.

`scripts/borders --kinds` prints the list with the figures, and fails where a test does not exist, an input does not stand
in a file of its tests, or a kind has fewer than five. A test is `module::name` as cargo names it, of the tests
in `tests/it` or in `src`, or a file of `scripts/fault`.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENOUGH = 5

S, N, A = "stories::", "snapshot::", "stories::accidents::"

# Item, kind, tests, inputs.
KINDS = [
    ("1", "work that is named like a secret", [S + "left_out::work_is_saved_whatever_it_is_called"],
     [".env.sample", ".env/settings.py", "certs.pem/readme", "keys.key/x", "public.pem", "tests/fixture.rs"]),
    ("1", "a secret under any name", [S + "left_out::secrets_are_left_out_by_their_content_and_named_everywhere",
                                       "secrets::file::tests::keys_are_told_by_their_content_whatever_they_are_called",
                                       "secrets::file::tests::files_of_credentials_are_told_by_their_form",
                                       "secrets::file::tests::what_merely_looks_or_sounds_like_one_is_none"],
     ["deploy/prod.env", "PGP PRIVATE KEY BLOCK", "PuTTY-User-Key-File-3", "AGE-SECRET-KEY-1", ".pgpass", "service_account", "public.pem"]),
    ("1", "left out paths are counted and named everywhere", [S + "left_out::one_number_is_named_everywhere_and_a_fork_says_what_it_lacks"],
     ["an excluded file", "a FIFO", "a socket", "a repository", "a secret", "a large file"]),
    ("1", "an ignore file of the project", [S + "left_out::the_project_and_the_user_name_what_is_left_out"],
     ["keep.log", "data/one/two/big", "data/small", "out/x", "tmp/x", "!/out/"]),
    ("1", "untracked files that git does not show", [S + "left_out::untracked_files_that_git_does_not_show_are_not_saved"],
     ['"false"', '"flag"', "private/letter", "src/new", "--tracked-only"]),
    ("1", "what may not be read", [S + "unreadable::what_may_not_be_read_is_named_everywhere", A + "edges::e31d_a_directory_that_may_not_be_changed_costs_its_files_only"],
     ["of which only writing is allowed", "listed and not entered", "entered and not listed", "a directory in a tracked one", "a file of rules"]),
    ("1", "nested repositories", [S + "nested::a_nested_repository_is_named_and_never_touched", S + "nested::saved_files_are_not_written_into_what_is_a_repository_now",
                                  "restore::cases::other_repositories_are_left_alone"],
     ["no commits yet", "detached, with changes", "a linked working tree of another repository", "a submodule that no .gitmodules names",
      "names with a line feed and an umlaut", "other ids", ".git a symlink", "a bare one, which git takes for files", "a .git file that leads nowhere"]),
    ("2", "an operation is recorded, kept and carried", [S + "operations::its_commits_are_kept_and_carried_and_it_is_named"],
     ["merge of two", "merge not committed yet", "several picks", "rebase by patches", "rebase with local changes put aside"]),
    ("2", "an operation is set up again, or its command is named", [S + "operations::a_merge_cherry_pick_or_revert_is_set_up_again",
                                                                   S + "operations::an_operation_that_git_begins_anew_is_named_with_its_command",
                                                                   S + "operations::an_operation_that_does_not_fit_is_left_with_the_reason"],
     ["merge of two", "several picks", "HEAD is elsewhere", "Another one is in progress", "A list of picks with a command in it", "(reftable {reftable})"]),
    ("2", "an operation that ended, or was never here", [S + "operations::the_report_tells_an_operation_that_ended_from_one_that_was_never_here",
                                                         "render::report::tests::an_operation_is_reported_by_where_it_was_begun"],
     ["../linked", "../clone", "LocationVerdict::OtherHost", "OperationKind::Unknown", "rebase by patches"]),
    ("3", "root in a user's repository", [S + "owners::what_root_makes_belongs_to_the_user", S + "owners::what_root_left_before_is_no_obstacle_to_reading",
                                          S + "owners::a_store_that_root_makes_belongs_to_the_user"],
     ['"pin"', '"rename"', '"prune"', '"fork"', '"export"', '"message"']),
    ("3", "file systems without locks", [S + "file_systems::without_locks_it_works_and_that_is_told_once"],
     ["EINVAL", "ENOTTY", "999999999 - ", "another-machine", '"prune", "--keep-last"']),
    ("3", "file systems that sync no directory", [S + "file_systems::without_synced_directories_it_works_and_that_is_told_once",
                                                  "os::support::tests::what_is_not_supported_is_told_from_what_failed"],
     ["ENOSYS", "ENOSPC", "EDQUOT", '"EIO"', '"delete", "s"']),
    ("3", "file systems without an exchange of names", [S + "file_systems::without_an_exchange_of_names_files_are_restored"],
     ["EINVAL", "ENOSYS", "EPERM", "EOPNOTSUPP", "ENOTTY"]),
    ("3", "a repository that cannot be written", [S + "elsewhere::sessions_are_kept_shared_and_resumed_without_the_repository", S + "elsewhere::the_store_follows_the_repository",
                                                  S + "elsewhere::a_commit_made_of_a_checkpoint_is_fetched_from_the_store", S + "elsewhere::a_repository_that_is_read_only_by_its_modes"],
     ["sessions/of it", "team/review", "größe", "it's", "u-w", "a=rX", '"watch", "--once"']),
    ("4", "space that is said to be free", [S + "prune::each_way_of_pruning_frees_what_it_says", S + "prune::what_was_said_to_be_freed_is_free_after_the_collection_that_is_named"],
     ["a deleted session", "in a repository of reftables", "with other ids", "a renamed session", "what another session has as well", "what an undo could bring back"]),
    ("4", "a prune is no damage", [S + "prune::a_prune_is_no_damage_to_autosaves_the_undo_list_and_the_trash",
                                   S + "prune::a_gap_that_an_earlier_version_did_not_note_is_no_damage_if_another_chain_notes_it"],
     ['&["redo"]', '"--autosaves"', '"fork", "s"', '"delete", "f"', "update-ref"]),
    ("5", "hooks that are the project's", [S + "hooks::a_directory_of_hooks_that_is_tracked_is_not_changed_unasked"],
     ["tools/git/hooks", "hooks dir", "./.githooks/", "ci/../ci/häkchen", "it's "]),
    ("6", "history that another tool rewrote", [S + "rewritten::rewritten_checkpoints_are_readable_reported_and_anchored_anew",
                                                S + "rewritten::a_snapshot_whose_index_commit_was_dropped_is_anchored_anew",
                                                S + "rewritten::a_rewritten_session_is_not_taken_from_others_before_it_is_anchored"],
     ["--tree-filter", "--env-filter", "--index-filter", "for parents in [2, 1]", "for staged in [false, true]"]),
    ("7", "packs stay few", ["store::packs::packs_stay_few_and_keep_their_objects", "store::packs::packs_stay_few_in_every_kind_of_repository",
                             "store::packs::others_packs_and_kept_ones_are_left_alone"],
     ['"sha256"', '"reftable"', '"shared"', "a low limit", "small packs", "no delta and no compression", "a multi-pack index"]),
    ("8", "files of git-lfs", [S + "large_files::a_file_is_stored_as_a_pointer_and_comes_back_without_the_objects_of_git_lfs",
                               S + "large_files::contents_go_with_the_last_checkpoint_that_needs_them", "share::refusing::files_of_lfs_go_first"],
     ["a directory/ü.bin", "lines.bin", "zeros.bin", "large.bin", "run.bin", "empty.bin", "pointer.bin"]),
    ("9", "notes on commits", [S + "hooks::notes_follow_every_way_of_rewriting", S + "hooks::notes_follow_commits_that_are_amended_and_rebased",
                               "share::handover::notes_on_commits_go_along_and_nobodys_are_replaced"],
     ["another order", "a squash", "a fixup by its message", "by patches", "with merges", "another author", "onto another place"]),
    ("10", "the environment of the first repository", [S + "beside::a_fork_touches_its_own_working_tree_and_index_alone",
                                                       S + "beside::a_submodule_is_looked_at_with_its_own_index_and_files"],
     ["GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE", "gitoxide.core.indexFile", "core.worktree=.."]),
    ("10", "bytes under a lossy filter", [S + "way_back::bytes_that_a_restore_overwrites_come_back", S + "way_back::bytes_that_a_restore_deletes_come_back",
                                          S + "way_back::bytes_that_an_apply_overwrites_come_back"],
     ["a filter that drops everything", "has no way back", "an encoding with a mark", "an identity", "mixed line ends"]),
    ("10", "coarse stat data", [N + "coarse::an_edit_in_the_second_of_the_index_is_seen_as_git_sees_it"],
     ['&["core.trustctime=false"], 0, 0, 0', "100_000_000, 0, 0)", "100, 100, 100", "core.trustctime=false\"], 100, 200, 300", "0, 500_000_000, 900_000_000"]),
    ("10", "the mode of the index", [N + "coarse::the_mode_of_the_index_is_never_remembered_for_the_file"],
     ["folder/g", "folder/h.txt", "folder/fresh", '"untracked"', "the setting taken back"]),
    ("10", "flags of the index", [S + "way_back::flagged_files_are_not_taken_for_those_of_a_sparse_checkout", S + "way_back::flags_of_the_index_stay",
                                  S + "way_back::sparse_checkouts_stay_sparse", N + "flags::each_flag_is_told_with_the_source_of_its_path"],
     ["--assume-unchanged", "d/conf", '"both"', "out/deep/h", '"assume"']),
    ("10", "two dots in names of repositories", [S + "beside::two_dots_lead_where_the_file_system_says"],
     ["../link/../../g/.git", "../link/repo.git", "../../w/./../w", "g/.git/refs", "../../w/deep/.."]),
    ("10", "undo judges by what was written", [S + "way_back::undo_judges_by_what_was_written", S + "restore::undo_is_not_misled_by_rules_of_which_only_a_part_came_back",
                                               S + "restore::undo_is_not_misled_by_modes_that_git_does_not_look_at"],
     ["checkpoint.exclude=/out", ".checkpointignore", "checkpoint.maxFileSize=1", "status.showUntrackedFiles=no", "out/ü\\nreport", "out/deep/er/report"]),
    ("10", "refusals inside of a compound command", [S + "fork_ready::a_fork_whose_files_are_not_as_saved_says_so"],
     ["place/pipe.tmp", "place/in.tmp", "place/d/e/x.tmp", "place/ü", "place/large.tmp"]),
    ("10", "tracked and deleted is not ignored", [S + "fork_ready::a_tracked_file_that_was_deleted_is_not_an_ignored_one"],
     ["*.js", "deep/er/app.js", "**/dist/**", "größe/ä pp.js", "[Aa]pp.j?"]),
    ("10", "clones without all history", [S + "borders::a_shallow_clone_does_not_call_history_rewritten"],
     ["--depth=2", "--filter=blob:none", "--no-single-branch", "--shallow-exclude=topic", "--filter=tree:0"]),
    ("10", "rules that no snapshot has", [S + "way_back::rules_that_no_snapshot_has_do_not_stop_a_restore"],
     ["*.x text\\n", "working-tree-encoding=UTF-16", "*.x ident", "*.x -text", "[attr]odd"]),
    ("10", "a dry run by force", [S + "borders::a_forced_dry_run_shows_the_plan_whatever_is_in_the_way"],
     ['"run"', '"link"', '"bytes"', '"d/e/f"', '"large"']),
    ("10", "drift without a line", [S + "resume::no_drift_is_without_a_line_that_explains_it", S + "resume::the_index_is_a_line_of_its_own"],
     ["staged only now", "a deleted file", "executable now", "a symlink in place of a file", "removed from the index alone", "an empty commit"]),
    ("11", "what git wrote and did not sync", [S + "file_systems::what_git_wrote_unsynced_is_on_the_disk_before_the_ref_moves",
                                               S + "file_systems::many_young_objects_are_synced_at_once", "scripts/fault/power.py"],
     ["--amend", '"merge"', '"rebase"', '"cherry-pick"', '"revert"']),
    ("11", "what was written among the files", [S + "file_systems::what_was_written_among_the_files_is_on_the_disk_before_the_journal_goes"],
     ['"--index", "--force"', '&["redo"]', '"--reverse"', '"pause", "--clean"', '"resume", "s", "--apply"']),
    ("11", "the way back after a kill", ["scripts/fault/kill_files.py", S + "interrupted::going_back_gives_everything_back",
                                         S + "interrupted::a_killed_apply_goes_on_and_back_where_both_sides_have_changes"],
     ["was-folder/inner/deep", "was-file", "private", "empty/inner", "saved todo"]),
    ("11", "every way out is searched for secrets", ["share::secrets::what_only_an_autosave_has_is_looked_at", "share::secrets::messages_and_people_of_commits_are_looked_at",
                                                    "share::secrets::names_of_files_are_looked_at", "share::secrets::contents_of_git_lfs_are_looked_at",
                                                    "share::secrets::commits_that_an_autosave_rests_on_are_looked_at_and_reported"],
     ["gone again", "<{}@example.org>", "{}/inner/file", "deep/{}", "4d7a2146", "fix\\n\\nuse {}"]),
    ("11", "text of others gives no orders", [S + "resume::text_of_others_stands_between_delimiters", "render::fence::tests::a_text_cannot_end_its_fence",
                                              "share::hostile::what_others_wrote_moves_no_terminal_and_gives_no_orders"],
     ["END x", "# EVIL-NOTE", "END token", "tok\\u{200b}en", "]0;title", "\\u{202e}"]),
    ("11", "text of others makes no headings", ["render::markdown::tests::what_a_line_begins_with_makes_no_markup", "render::markdown::tests::markup_in_text_stays_text"],
     ["123456789) x", "1.5 times", "a - b = c + 1.", "2 files", "# <b>*x*</b> [l](u)"]),
    ("11", "trust by the environment", [S + "owners::trust_by_the_environment_or_an_option_counts_in_every_command"],
     ['"{}/*"', "safe.directory=\"", '"watch", "--once"', '"todo", "add"', '"prune", "-n"']),
    ("11", "nothing of a foreign repository is opened unasked", [N + "foreign::nothing_is_opened_without_asking_what_it_is"],
     ["reftables with a FIFO", "alternates of alternates", "commondir large", "index a FIFO", "branch large", "HEAD large"]),
    ("11", "no output goes through a symlink", [S + "outputs::no_output_goes_through_a_symlink"],
     ["empty.md", "absent.json", "docs/x.json", "chain/x.md", "real/deep/session", "docs/b.bundle"]),
    ("11", "file systems that fold case", ["scripts/fault/folding.py", "worktree::restore::paths::tests::names_that_are_one_to_the_file_system_collide",
                                           A + "git::e35_names_that_differ_in_case_alone"],
     ["nested directories", "an inner directory", "two that change places", "a file for a directory", "STRASSE", "\\u{212b}"]),
    ("11", "errors of hard links", [S + "file_systems::without_hard_links_it_works"],
     ["EACCES", "ENOMEM", "ENOSPC", "EOVERFLOW", "ENODEV", "ENXIO"]),
    ("11", "record and files are undone apart", [S + "parts::answers_choose_what_git_chooses", S + "parts::parts_of_an_apply_keep_what_came_since",
                                                 S + "undo::what_is_not_part_of_it_is_not_in_its_way"],
     ["sub/new", "gone", "j\\ny\\nk", "--reverse", '"mine"']),
    ("11", "deep trees, large blobs and endless text", ["scripts/fault/bombs.py", "restore::hostile::trees_without_end_are_refused_in_time",
                                                       "share::hostile::a_session_that_is_too_large_is_refused_within_bounds",
                                                       "share::secrets::a_tree_deeper_than_git_allows_ends_the_push_with_a_message"],
     ["10^12 paths", "JSON 10,000 deep", "100,000 refs", "for _ in 0..5000", "checkpoint.maxFetchSize", "3001);"]),
    ("11", "clocks and modes of others", ["model::time::tests::unix_times_are_clamped_to_what_git_stores", "model::time::tests::times_keep_their_offset_and_fraction",
                                          "restore::cases::modes_come_back_but_not_setuid", "restore::cases::a_private_file_does_not_become_public_under_another_mask"],
     ["-5, 0", "i64::MAX, i32::MAX", "-05:45", "yesterday", "0o600"]),
    ("12", "permission bits of ignored files", [S + "borders::an_ignored_file_gets_the_saved_permissions_on_request"],
     ["0o755_u32", "0o700", "0o600", "0o640", "0o444"]),
    ("12", "keys in any wrapping", ["secrets::tests::places::private_keys_are_found_however_they_are_wrapped",
                                    "secrets::tests::json::json_inside_json_is_understood"],
     ['join("\\\\r\\\\n")', 'join("\\n+")', 'join("\\n> ")', 'join("\\n// ")', 'numbered("\\t")', 'numbered(" | ")']),
    ("12", "files that no server takes", [S + "way_back::files_that_no_server_takes_come_back_and_stay_out_of_the_tree", N + "held_files::held_is_what_fsck_refuses"],
     ["deep/.gitmodules", "deep/.gitattributes", "* text eol=crlf", "*.none -text", "* text=auto"]),
    ("12", "wrong names and commands get a proposal", ["citizen::scripts::row_29_names_of_checkpoints_are_suggested", "citizen::every::row_29_typing_errors_get_suggestions",
                                                       S + "newcomer::words_that_are_not_near_are_no_suggestion"],
     ["hafl", "auth@halv", "atuh", "auht", "svae", "--sumary", "recovry"]),
    ("12", "records of git that are damaged", [S + "resume::the_record_comes_though_git_is_unwell", S + "damage::refs_that_are_empty_garbage_or_dangling"],
     ["garbage", "refs/heads/a..b", '"ref: \\n"', "1\".repeat(40)", ".git/index"]),
]


def source(test):
    """The file of a test, and the name of its function; None for a script."""
    if test.startswith("scripts/"):
        return ROOT / test, None
    *modules, name = test.split("::")
    for base in (ROOT / "tests/it", ROOT / "src"):
        at = list(modules)
        while at:
            for file in (base.joinpath(*at).with_suffix(".rs"), base.joinpath(*at) / "mod.rs"):
                if file.is_file() and re.search(rf"\bfn {name}\(", file.read_text()):
                    return file, name
            at.pop()
    return None, name


def check():
    """Lines for each kind, and what is wrong with the list."""
    lines, wrong = [], []
    for item, kind, tests, inputs in KINDS:
        texts = []
        for test in tests:
            file, name = source(test)
            if file is None or not file.is_file():
                wrong.append(f"{kind}: there is no test {test}")
                continue
            text = file.read_text()
            if name is not None and not re.search(rf"#\[test\]\s*(#\[[^\n]*\]\s*)*fn {name}\(", text):
                wrong.append(f"{kind}: {test} is no test")
            texts.append(text)
        for given in inputs:
            if not any(given in text for text in texts):
                wrong.append(f"{kind}: no test has the input {given!r}")
        count = len(set(inputs))
        if count < ENOUGH:
            wrong.append(f"{kind}: {count} inputs, {ENOUGH} are needed")
        lines.append(f"{item:3} {count:3}  {kind}: {', '.join(tests)}")
    return lines, wrong
