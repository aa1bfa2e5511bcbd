import { OWNER_KEY } from '../daemon.ts';
import type { GatewayDaemon } from './gateway-daemon.ts';
import type { FormatName, Play, Received } from './mock-upstream.ts';
import { PATHS, plainBody } from './raw.ts';
import { type Script, USAGE } from './script.ts';

/** The usual answer of an upstream. */
export const DONE: Script = { steps: [{ text: 'Done.' }], usage: USAGE };

/** What a client got, and what the upstream was sent for it. */
interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Empty for a stream. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of four formats
  readonly body: any;
  /** Undefined where the answer is none. */
  // biome-ignore lint/suspicious/noExplicitAny: errors of four formats
  readonly error: any;
  /** Paths of fields in the headers that name them; null for none. */
  readonly ignored: string | null;
  readonly dropped: string | null;
  readonly requests: readonly Received[];
  /** The body and the text of the last request to the upstream. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of four formats
  readonly sent: any;
  readonly wire: string;
}

interface Options {
  readonly key?: string;
  /** None where the upstream was told already what to play. */
  readonly play?: Play[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends the smallest request of a format with further fields. */
export async function ask(
  { daemon, upstream }: GatewayDaemon,
  client: FormatName,
  model: string,
  more: object = {},
  { key = OWNER_KEY, play = [DONE], headers: others }: Options = {},
): Promise<Asked> {
  if (play.length > 0) upstream.play(...play);
  const [path, asked] =
    client === 'gemini'
      ? [`/v1beta/models/${model}:generateContent`, { contents: HELLO, ...more }]
      : [PATHS[client], plainBody(client, model, more)];
  const response = await daemon.send(path, asked, { key, headers: others });
  const { status, headers } = response;
  const text = await response.text();
  const body = text.startsWith('{') ? JSON.parse(text) : {};
  const { requests } = upstream;
  return {
    ...{ status, headers, text, body, error: body.error ?? undefined, requests },
    ignored: headers.get('x-oriel-ignored'),
    dropped: headers.get('x-oriel-dropped'),
    sent: requests.at(-1)?.body,
    wire: requests.at(-1)?.text ?? '',
  };
}

const HELLO = [{ role: 'user', parts: [{ text: 'Hello' }] }];
