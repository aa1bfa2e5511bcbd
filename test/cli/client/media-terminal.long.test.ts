import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { type Run, temporaryFolder } from '../../oriel.ts';
import { HAS_TERMINAL, typed } from '../in-terminal.ts';
import { mediaServer, pictures, record } from './media-server.ts';

const WIDTH = 1000;
const HEIGHT = 500;
const background = { r: 200, g: 40, b: 40, alpha: 0.5 };
const PNG = await sharp({ create: { width: WIDTH, height: HEIGHT, channels: 4, background } })
  .png()
  .toBuffer();

/** A terminal that says nothing of itself. */
const PLAIN = {
  ...{ CI: undefined, TMUX: undefined, STY: undefined, ZELLIJ: undefined, COLORTERM: undefined },
  ...{ TERM_PROGRAM: undefined, LC_TERMINAL: undefined, KITTY_WINDOW_ID: undefined },
};

const ASK = '\u001b[c';

/** Runs in a terminal that answers the question what it is. */
async function inTerminal(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  attributes = '',
  looks = [record({ status: 'processing' }), pictures('/assets/a.png')],
): Promise<Run & { readonly asked: boolean }> {
  const assets = { 'a.png': { bytes: PNG, type: 'image/png' } };
  const server = await mediaServer({ assets, looks });
  const run = await typed(line, [[ASK, attributes]], {
    cwd: temporaryFolder(),
    env: { ...PLAIN, ORIEL_URL: server.url, ...env },
  });
  return { ...run, asked: run.out.includes(ASK) };
}

const KITTY = /(?:\u001b_G[^;]*;[A-Za-z0-9+/=]*\u001b\\)+/;
const ITERM = /\u001b\]1337;File=inline=1;size=(\d+):([A-Za-z0-9+/=]+)\u0007/;
const SIXEL = /\u001bP[\d;]*q[^\u001b]*\u001b\\/;

async function sizeOf(base64: string): Promise<[number | undefined, number | undefined]> {
  const { width, height } = await sharp(Buffer.from(base64, 'base64')).metadata();
  return [width, height];
}

describe.runIf(HAS_TERMINAL)('images on a terminal (needs script of util-linux)', () => {
  it('are shown by the kitty protocol in chunks, and the path on its own line', async () => {
    const { status, out } = await inTerminal('oriel generate x', { TERM: 'xterm-kitty' });
    expect(status).toBe(0);
    const pieces = [...KITTY.exec(out)![0].matchAll(/\u001b_G([^;]*);([^\u001b]*)/g)];
    expect(pieces[0]?.[1]).toMatch(/^a=T,f=100,q=2,m=[01]$/);
    expect(pieces.at(-1)?.[1]).toMatch(/m=0$/);
    expect(await sizeOf(pieces.map(([, , data]) => data).join(''))).toEqual([800, 400]);
    expect(out).toMatch(/\u001b\\\r\nx\.png\r\n$/);
    // The line that said what is waited for is gone.
    expect(out).toMatch(/⠋ pending 0 s/);
    expect(out).toMatch(/paint processing \d s\r\u001b\[K(?!.*processing)/s);
  });

  it('are shown by the iTerm2 protocol', async () => {
    const { out } = await inTerminal('oriel generate x --quiet', { TERM_PROGRAM: 'WezTerm' });
    const [, size, data] = ITERM.exec(out)!;
    expect(Buffer.from(data!, 'base64')).toHaveLength(Number(size));
    expect(await sizeOf(data!)).toEqual([800, 400]);
    expect(out).not.toContain('pending');
  });

  it('are shown as sixels where the terminal or tmux reports support', async () => {
    const { asked, out } = await inTerminal('oriel generate x', { TMUX: '1' }, '\u001b[?62;4;6c');
    expect(asked).toBe(true);
    // Half transparent red on white, in percent, in all of the first six rows.
    expect(SIXEL.exec(out)![0]).toMatch(/^\u001bP[\d;]*q"1;1;800;400#0;2;89;58;58#0!800~/);
    expect(out).toMatch(/\r\nx\.png\r\n$/);
  });

  it.each([
    ['in a terminal that cannot', {}, 'oriel generate x', '\u001b[?64;1;2c', true],
    ['in a terminal that does not answer', {}, 'oriel generate x', '', true],
    ['in tmux', { TMUX: '1', KITTY_WINDOW_ID: '1' }, 'oriel generate x', '\u001b[?1;2c', true],
    ['with --no-show', { TERM: 'xterm-kitty' }, 'oriel generate x --no-show', '', false],
    ['in CI', { TERM: 'xterm-kitty', CI: '1' }, 'oriel generate x', '', false],
    ['for --json', { TERM: 'xterm-kitty' }, 'oriel generate x --json', '', false],
    ['in a pipe', { TERM: 'xterm-kitty' }, 'oriel generate x | cat', '', false],
    ['in the background', {}, 'set -m; oriel generate x & wait', '', false],
  ] as const)('are not shown %s', async (_, env, line, attributes, asks) => {
    const { status, asked, out } = await inTerminal(line, env, attributes);
    expect({ status, asked }).toEqual({ status: 0, asked: asks });
    for (const drawn of [KITTY, ITERM, SIXEL]) expect(out).not.toMatch(drawn);
    expect(out).toContain('x.png');
  });

  it('--out - to a terminal exits with 2', async () => {
    const { status, out } = await inTerminal('oriel generate x --out -', {});
    expect(status).toBe(2);
    expect(out).toContain('--out -: expected a file or a pipe, received a terminal');
  });

  it('^C removes the spinner, also while the terminal is queried', async () => {
    // A task that is done would end the command before a machine under load reads the key.
    const looks = [record({ status: 'processing' })];
    const { status, out } = await inTerminal('oriel generate x', {}, '\u0003', looks);
    expect(status).toBe(130);
    expect(out).toContain('\r\u001b[Koriel: interrupted; `oriel task task_1 --wait --out .`');
  });
});
