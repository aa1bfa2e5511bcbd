import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { beforeAll, describe, expect, it, type TestContext, test } from 'vitest';
import type { CommandDefinition } from '../../../src/cli/command/command.ts';
import { completionScript } from '../../../src/cli/completion/completion-command.ts';
import { field } from '../../../src/schema/fields.ts';
import { temporaryFolder } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';

const oriel = residentCommand();

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

function needs(shell: Shell, context: TestContext): void {
  const { error } = spawnSync(shell, ['-c', 'exit']);
  context.skip(error !== undefined, `${shell} is not installed`);
}

interface Setting {
  readonly completion: string;
  readonly flags?: readonly string[];
  readonly args?: readonly string[];
}

/** Runs a script in a folder that holds the completion and a folder with one image. */
function run(shell: Shell, script: string, { completion, flags = [], args = [] }: Setting): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'folder', 'image.jpg'), '');
  writeFileSync(join(folder, 'completion'), completion);
  writeFileSync(join(folder, 'script'), script);
  const { status, stdout, stderr } = spawnSync(shell, [...flags, 'script', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: folder, TERM: 'dumb', LC_ALL: 'C.UTF-8' },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

const sorted = (words: Iterable<string>): string[] => [...new Set(words)].sort();

/** Reads a line of words for each line of output but the last, which is empty. */
function readLines(output: string): string[][] {
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t').filter(Boolean));
}

/**
 * Calls the function that bash calls. A line is cut up as readline cuts it, at spaces and between
 * them at "=" and ":". The first word printed is `files` where bash falls back to file names.
 */
function callBash(completion: string, lines: readonly string[]): string[][] {
  const driver = `
    source completion
    compopt() { fallback=no; }
    for line; do
      read -ra COMP_WORDS <<< "$line"
      [[ $line == *' ' ]] && COMP_WORDS+=('')
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMPREPLY=() fallback=files
      _oriel
      (IFS=$'\\t'; printf '%s\\t%s\\n' "$fallback" "\${COMPREPLY[*]}")
    done`;
  return readLines(run('bash', driver, { completion, args: lines }));
}

/** Completions of the last word of each line, as whole words in order. */
const OFFER: Readonly<Record<Shell, (completion: string, lines: readonly string[]) => string[][]>> =
  {
    bash(completion, lines) {
      const cut = lines.map((line) => line.replace(/[:=]+/g, ' $& ').replace(/([:=]) $/, '$1'));
      return callBash(completion, cut).map(([, ...replies], index) => {
        const kept = /[^ ]*[:=]|$/.exec(lines[index]!)![0];
        return sorted(replies.map((reply) => `${kept}${reply}`));
      });
    },

    fish(completion, lines) {
      const driver = `
        source completion
        for line in $argv
          echo (complete -C $line | string replace -r '\\t.*' '' | string join \\t)
        end`;
      const flags = ['--no-config'];
      return readLines(run('fish', driver, { completion, flags, args: lines })).map(sorted);
    },

    // zsh completes on a terminal only: each line is typed into one as soon as zsh reads from it,
    // and cleared again by ^U, and what is offered is printed. The terminal echoes what is typed,
    // which must not look like an answer: hence a word in two halves.
    zsh(completion, lines) {
      const driver = `
        zmodload zsh/zpty
        zpty -b shell zsh -f -i
        zpty -w shell 'PS1=; unset zle_bracketed_paste; LISTMAX=100000
          autoload -U compinit && compinit -u -D && source ./completion
          compadd() {
            if [[ " $* " != *" -"[OAD]" "* ]]; then
              local -a offered
              builtin compadd -A offered "$@"
              (( $#offered )) && print -rn -- "<<"\${^offered}">>"
            fi
            builtin compadd "$@"
          }
          zle-line-init() { print -n REA""DY }
          zle -N zle-line-init'
        zpty -r shell output '*READY*'
        for line; do
          zpty -w shell "$line"$'\\t\\x15'
          zpty -r shell output '*READY*'
          print -r -- "$output"
        done
        zpty -d shell`;
      const output = run('zsh', driver, { completion, flags: ['-f'], args: lines });
      return output
        .split('READY')
        .slice(0, -1)
        .map((text) => sorted(Array.from(text.matchAll(/<<(.*?)>>/g), ([, word]) => word!)));
    },
  };

const OFFERS: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['oriel conv', ['convert']],
  ['oriel re', ['recipe', 'requests', 'resize', 'restart', 'restore']],
  ['oriel zz', []],
  ['oriel config ', ['check', 'help', 'print', 'schema']],
  ['oriel config print --', ['--help', '--json']],
  ['oriel convert --form', ['--format']],
  ['oriel convert --fit', []],
  ['oriel resize --fit cover --wid', ['--width']],
  ['oriel convert --format we', ['webp']],
  ['oriel crop --format j', ['jpeg', 'jpg', 'jxl']],
  ['oriel resize --fit co', ['contain', 'cover']],
  ['oriel convert --chroma-subsampling 4', ['4:2:0', '4:4:4']],
  ['oriel convert --chroma-subsampling 4:2', ['4:2:0']],
  ['oriel convert --chroma-subsampling 4:4:', ['4:4:4']],
  ['oriel convert --jobs ', []],
  ['oriel completion ', ['bash', 'fish', 'zsh']],
  ['oriel help rot', ['rotate']],
  ['oriel cha', ['chat']],
  ['oriel chat --effort x', ['xhigh']],
  ['oriel models --', ['--help', '--json', '--key', '--url']],
  ['oriel generate --no-', ['--no-show', '--no-wait']],
  ['oriel generate --no-wait --quality h', ['high']],
  ['oriel tasks --status p', ['pending', 'processing']],
  ['oriel accounts s', ['set-bodies', 'set-plan', 'show']],
  ['oriel accounts create ci --plan ', ['free', 'paid']],
  ['oriel keys create --ac', ['--account']],
];

/** Commands with text and values that need quoting in a shell. */
const QUOTED: readonly CommandDefinition[] = [
  {
    name: 'accounts',
    summary: '',
    subcommands: [
      {
        name: 'create',
        summary: `it's "new" [really]: $(touch ruin) \`touch ruin\` \\ %s`,
        positionals: [{ syntax: '<size>', description: '', choices: ['small', 'large'] }],
        flags: [
          {
            heading: 'Options:',
            schema: v.strictObject({
              plan: v.optional(
                field(v.picklist(['free', 'paid']), `a 'plan': [$HOME]`, { short: 'p' }),
              ),
            }),
          },
        ],
      },
      { name: 'list', summary: 'all of them' },
    ],
  },
];

const scripts = {} as Record<Shell, string>;

beforeAll(async () => {
  for (const shell of SHELLS) scripts[shell] = (await oriel(['completion', shell])).out;
});

describe.each(SHELLS)('completion in %s', (shell) => {
  it('is a script without syntax errors', async (context) => {
    needs(shell, context);
    const quoted = await completionScript(QUOTED, shell);
    for (const completion of [scripts[shell], quoted]) {
      expect(run(shell, completion, { completion, flags: ['-n'] })).toBe('');
    }
  });

  it('offers commands, flags and choices', (context) => {
    needs(shell, context);
    const lines = OFFERS.map(([line]) => line);
    const found = OFFER[shell](scripts[shell], lines);
    expect(lines.map((line, index) => [line, found[index]])).toEqual(OFFERS);
  });

  it('completes subcommands and quotes their texts and values', async (context) => {
    needs(shell, context);
    const lines = [
      'oriel a',
      'oriel accounts ',
      'oriel accounts create --',
      'oriel accounts create --plan ',
      'oriel accounts create l',
      'oriel accounts list --p',
    ];
    const found = OFFER[shell](await completionScript(QUOTED, shell), lines);
    expect(found).toEqual([
      ['accounts'],
      ['create', 'help', 'list'],
      ['--help', '--plan'],
      ['free', 'paid'],
      ['large'],
      [],
    ]);
  });
});

describe('completion in bash', () => {
  it('offers the choices of --flag=value with = among COMP_WORDBREAKS and without', (context) => {
    needs('bash', context);
    const found = callBash(scripts.bash, [
      'oriel convert --format = we',
      'oriel resize --fit =',
      'oriel convert --format=we',
      'oriel convert --chroma-subsampling = 4 : 2',
    ]);
    expect(found).toEqual([
      ['no', 'webp'],
      ['no', 'inside', 'cover', 'contain', 'fill', 'outside'],
      ['no', '--format=webp'],
      ['no', '2:0'],
    ]);
  });

  it('falls back to file names for inputs, paths and arguments after --, and nowhere else', (context) => {
    needs('bash', context);
    const files = [
      'oriel convert fol',
      'oriel convert ',
      'oriel convert --out fol',
      'oriel convert --format webp fol',
      'oriel convert -- --fo',
      'oriel keys list --data fol',
      'oriel edit fol',
      'oriel generate --input fol',
    ];
    const nothing = [
      'oriel fol',
      'oriel convert --jobs ',
      'oriel convert --format fol',
      'oriel accounts show fol',
      'oriel keys create --account fol',
      'oriel chat fol',
      'oriel generate fol',
      'oriel task fol',
      'oriel chat --system fol',
    ];
    expect(callBash(scripts.bash, files)).toEqual(files.map(() => ['files']));
    expect(callBash(scripts.bash, nothing)).toEqual(nothing.map(() => ['no']));
  });

  it('offers every command and every flag that help shows', async (context) => {
    needs('bash', context);
    const help = async (args: string[]) => (await oriel([...args, '--help'])).out;
    const commands = Array.from(
      (await help([])).matchAll(/^ {2}([a-z][\w-]*) /gm),
      ([, name]) => name!,
    );
    expect(commands).toContain('convert');
    const lines = ['oriel ', ...commands.map((name) => `oriel ${name} -`)];
    const [first, ...rest] = OFFER.bash(scripts.bash, lines);
    expect(first).toEqual(sorted(commands));
    for (const [index, name] of commands.entries()) {
      const flags = (await help([name])).matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)/gm);
      const shown = [...flags].flatMap(([, short, long]) => (short ? [short, long!] : [long!]));
      expect([name, rest[index]]).toEqual([name, sorted(shown)]);
    }
  });
});

test('completion in fish offers the choices of --flag=value, and files', (context) => {
  needs('fish', context);
  const lines = ['oriel convert --format=we', 'oriel convert folder/', 'oriel completion fol'];
  const found = OFFER.fish(scripts.fish, [...lines, 'oriel convert --out fol']);
  expect(found).toEqual([['--format=webp'], ['folder/image.jpg'], [], ['folder/']]);
});

test('completion in zsh offers the choices of --flag=value, and files', (context) => {
  needs('zsh', context);
  const lines = ['oriel convert --format=we', 'oriel convert folder/', 'oriel completion fol'];
  const found = OFFER.zsh(scripts.zsh, [...lines, 'oriel convert --out fol']);
  expect(found).toEqual([['webp'], ['image.jpg'], [], ['folder']]);
});

test('completion for an unknown shell exits with 2 and names the known ones', async () => {
  const { code, out, stderr } = await oriel(['completion', 'tcsh']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(stderr).toContain('bash, zsh, fish');
});
