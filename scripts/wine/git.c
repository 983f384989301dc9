/* git.exe for wine: starts the git of Linux, with paths of drive Z as paths of Linux. Arguments with spaces in a path are
 * beyond it; the smoke story has none. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *VARIABLES[] = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG_GLOBAL", "HOME", NULL};

/* Each "Z:\a\b" or "Z:/a/b" becomes "/a/b", in place. */
static void to_linux(char *text) {
    char *out = text;
    for (const char *in = text; *in;) {
        if ((in[0] == 'Z' || in[0] == 'z') && in[1] == ':' && (in[2] == '\\' || in[2] == '/')) {
            in += 2;
            while (*in && *in != ' ' && *in != '"') {
                *out++ = *in == '\\' ? '/' : *in;
                in++;
            }
        } else {
            *out++ = *in++;
        }
    }
    *out = 0;
}

static void copy(HANDLE from, HANDLE to) {
    char buffer[65536];
    DWORD count, written;
    while (ReadFile(from, buffer, sizeof buffer, &count, NULL) && count) {
        for (DWORD at = 0; at < count && WriteFile(to, buffer + at, count - at, &written, NULL); at += written) {
        }
    }
}

static void save_input(const char *file) {
    char name[MAX_PATH + 4];
    snprintf(name, sizeof name, "%s.in", file);
    HANDLE to = CreateFileA(name, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    HANDLE from = GetStdHandle(STD_INPUT_HANDLE);
    DWORD type = from ? GetFileType(from) : FILE_TYPE_UNKNOWN;
    if (type == FILE_TYPE_PIPE || type == FILE_TYPE_DISK) copy(from, to);
    CloseHandle(to);
}

/* Copies what git wrote to ours, and removes the file. */
static void pass_on(const char *file, const char *end, DWORD to) {
    char name[MAX_PATH + 4];
    snprintf(name, sizeof name, "%s.%s", file, end);
    HANDLE from = CreateFileA(name, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    if (from != INVALID_HANDLE_VALUE) {
        copy(from, GetStdHandle(to));
        CloseHandle(from);
    }
    DeleteFileA(name);
}

int main(void) {
    char *line = strdup(GetCommandLineA());
    char *rest = line;
    if (*rest == '"') {
        rest = strchr(rest + 1, '"');
        rest = rest ? rest + 1 : line + strlen(line);
    } else {
        while (*rest && *rest != ' ') rest++;
    }
    to_linux(rest);
    /* wine gives no handle of a process of Linux and connects it to no pipe of Windows: a script keeps input, output and
     * exit code in files. */
    const char *shell = "Z:\\bin\\sh", *script = getenv("WINE_GIT_SCRIPT"), *codes = getenv("WINE_GIT_CODES");
    char file[MAX_PATH], linux_file[MAX_PATH];
    snprintf(file, sizeof file, "%s\\%lu.%lu", codes, GetCurrentProcessId(), GetTickCount());
    strcpy(linux_file, file);
    to_linux(linux_file);
    char *all = malloc(strlen(rest) + 3 * MAX_PATH);
    sprintf(all, "sh %s %s%s", script, linux_file, rest);
    save_input(file);
    for (int i = 0; VARIABLES[i]; i++) {
        const char *value = getenv(VARIABLES[i]);
        if (value) {
            char *changed = strdup(value);
            to_linux(changed);
            SetEnvironmentVariableA(VARIABLES[i], changed);
        }
    }
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION process;
    if (!CreateProcessA(shell, all, NULL, NULL, FALSE, 0, NULL, NULL, &start, &process)) {
        fprintf(stderr, "git.exe: git does not start: error %lu\n", GetLastError());
        return 127;
    }
    FILE *ended;
    while (!(ended = fopen(file, "r"))) Sleep(1);
    int code = 127;
    fscanf(ended, "%d", &code);
    fclose(ended);
    remove(file);
    pass_on(file, "err", STD_ERROR_HANDLE);
    pass_on(file, "out", STD_OUTPUT_HANDLE);
    char input[MAX_PATH + 4];
    snprintf(input, sizeof input, "%s.in", file);
    DeleteFileA(input);
    return code;
}
