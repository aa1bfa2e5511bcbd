import { readFileSync } from 'node:fs';

/** How a terminal is given a picture. */
export type Protocol = 'kitty' | 'iterm' | 'sixel';

/** Milliseconds in which a terminal answers, over a slow line too. */
const ANSWER = 500;

/** "What are you?": Device Attributes, which every terminal since the VT100 answers. */
const ASK = '\u001b[c';
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const ANSWERED = /\u001b\[\?([\d;]*)c/;

/** The attribute of terminals that draw sixels. */
const SIXEL = '4';

/** Ctrl-C as it is read where the terminal does not make a signal of it. */
const CONTROL_C = '\u0003';

/** How the terminal at standard output shows pictures; null where it does not. Never rejects. */
export async function findProtocol(): Promise<Protocol | null> {
  const { env } = process;
  const term = env['TERM'] ?? '';
  if (!process.stdout.isTTY || env['CI'] || term === '' || term === 'dumb') return null;
  // What stands between us and the terminal takes its pictures from nobody, unless it says below,
  // for itself, that it draws sixels.
  const isBetween = env['TMUX'] || env['STY'] || env['ZELLIJ'] || /^(screen|tmux)/.test(term);
  if (!isBetween) {
    const program = env['TERM_PROGRAM'];
    if (env['KITTY_WINDOW_ID'] || program === 'ghostty' || /^xterm-(kitty|ghostty)$/.test(term)) {
      return 'kitty';
    }
    if (program === 'iTerm.app' || program === 'WezTerm' || env['LC_TERMINAL'] === 'iTerm2') {
      return 'iterm';
    }
    if (/sixel|^(foot|mlterm|yaft)\b/.test(term)) return 'sixel';
  }
  return isInForeground() && (await drawsSixels()) ? 'sixel' : null;
}

/**
 * Whether the terminal is ours to ask: it stops processes of the background that change its mode.
 * Only Linux tells; elsewhere the terminals with pictures are known by name.
 */
function isInForeground(): boolean {
  if (!process.stdin.isTTY || process.platform !== 'linux') return false;
  try {
    // Behind the name in parentheses: state, parent, group, session, terminal, its foreground group.
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return false;
  }
}

async function drawsSixels(): Promise<boolean> {
  const { stdin, stdout } = process;
  return new Promise((resolve) => {
    let seen = '';
    const end = (attributes: string) => {
      clearTimeout(timer);
      stdin.off('data', read);
      stdin.setRawMode(false);
      stdin.pause();
      // The first is the kind of terminal.
      resolve(attributes.split(';').slice(1).includes(SIXEL));
    };
    const read = (bytes: Buffer) => {
      seen += bytes.toString('latin1');
      const attributes = ANSWERED.exec(seen)?.[1];
      if (attributes !== undefined) end(attributes);
      else if (bytes.includes(CONTROL_C)) {
        end('');
        process.kill(process.pid, 'SIGINT');
      }
    };
    const timer = setTimeout(end, ANSWER, '');
    stdin.setRawMode(true);
    stdin.on('data', read);
    stdout.write(ASK);
  });
}
