import { readFileSync } from 'node:fs';
import type { Protocol } from './encode-image.ts';
import { print } from './terminal.ts';

/** Shows images in the terminal. */
export type TerminalImages = ReturnType<typeof terminalImages>;

/** @param wanted false shows nothing */
export function terminalImages(wanted: boolean) {
  let protocolFound: Promise<Protocol | null> | undefined;
  const find = () => {
    protocolFound ??= wanted ? findProtocol() : Promise.resolve(null);
    return protocolFound;
  };
  return {
    prepare: () => void find(),
    async show(bytes: Uint8Array) {
      const protocol = await find();
      if (protocol === null) return;
      // Imported here, because few terminals show images.
      const { encodeForTerminal } = await import('./encode-image.ts');
      const encoded = await encodeForTerminal(protocol, bytes);
      if (encoded !== null) await print(`${encoded}\n`);
    },
  };
}

/** Enough for a terminal behind a slow connection. */
const REPLY_TIMEOUT_MS = 500;

/** Request of the Device Attributes, to which every terminal since the VT100 replies. */
const REQUEST = '\u001b[c';
// biome-ignore lint/suspicious/noControlCharactersInRegex: the reply begins with it
const REPLY = /\u001b\[\?([\d;]*)c/;

/** The attribute of terminals that support sixels. */
const SIXEL = '4';

/** Ctrl-C as input in raw mode, where it causes no signal. */
const CONTROL_C = '\u0003';

/** The protocol of the terminal at standard output; null where it shows no images. Never rejects. */
async function findProtocol(): Promise<Protocol | null> {
  const { env } = process;
  const term = env['TERM'] ?? '';
  if (!process.stdout.isTTY || env['CI'] || term === '' || term === 'dumb') return null;
  // A multiplexer passes on no images of the terminal around it, but may support sixels itself, which
  // the request below detects.
  const isMultiplexer = env['TMUX'] || env['STY'] || env['ZELLIJ'] || /^(screen|tmux)/.test(term);
  if (!isMultiplexer) {
    const program = env['TERM_PROGRAM'];
    if (env['KITTY_WINDOW_ID'] || program === 'ghostty' || /^xterm-(kitty|ghostty)$/.test(term)) {
      return 'kitty';
    }
    if (program === 'iTerm.app' || program === 'WezTerm' || env['LC_TERMINAL'] === 'iTerm2') {
      return 'iterm';
    }
    if (/sixel|^(foot|mlterm|yaft)\b/.test(term)) return 'sixel';
  }
  return isInForeground() && (await supportsSixels()) ? 'sixel' : null;
}

/**
 * Whether this process is in the foreground: the terminal stops background processes that change its
 * mode. Known on Linux only; elsewhere terminals with images are recognised by their names.
 */
function isInForeground(): boolean {
  if (!process.stdin.isTTY || process.platform !== 'linux') return false;
  try {
    // Fields after the name in parentheses: state, parent, group, session, terminal, foreground group.
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return false;
  }
}

async function supportsSixels(): Promise<boolean> {
  const { stdin, stdout } = process;
  return new Promise((resolve) => {
    let seen = '';
    const end = (attributes: string) => {
      clearTimeout(timer);
      stdin.off('data', read);
      stdin.setRawMode(false);
      stdin.pause();
      // The first attribute is the type of the terminal.
      resolve(attributes.split(';').slice(1).includes(SIXEL));
    };
    const read = (bytes: Buffer) => {
      seen += bytes.toString('latin1');
      const attributes = REPLY.exec(seen)?.[1];
      if (attributes !== undefined) end(attributes);
      else if (bytes.includes(CONTROL_C)) {
        end('');
        process.kill(process.pid, 'SIGINT');
      }
    };
    const timer = setTimeout(end, REPLY_TIMEOUT_MS, '');
    stdin.setRawMode(true);
    stdin.on('data', read);
    stdout.write(REQUEST);
  });
}
