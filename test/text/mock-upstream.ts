import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { valueOr } from '../../src/flow.ts';
import { openServer } from '../fixtures/open-server.ts';
import { countFault, embedFault, geminiFault } from './gemini/gemini-rules.ts';
import { GEMINI_ERROR, geminiAnswer, geminiFrames } from './gemini/render-gemini.ts';
import { CHAT_ERROR, chatAnswer, chatFrames } from './render-chat.ts';
import { MESSAGES_ERROR, messagesAnswer, messagesFrames } from './render-messages.ts';
import { responsesAnswer, responsesErrorFrames, responsesFrames } from './render-responses.ts';
import type { Fault, Frame, Framing, Script } from './script.ts';

export type DialectName = 'chat' | 'responses' | 'messages';

/** The wire formats of the mock: those of all clients, and gemini. */
export type FormatName = DialectName | 'gemini';

const PATHS: Readonly<Record<string, FormatName>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/responses/input_tokens': 'responses',
  '/v1/messages': 'messages',
  '/v1/messages/count_tokens': 'messages',
  '/v1/embeddings': 'chat',
  '/v1/rerank': 'chat',
};

/** A method of Google's, whose path names the model and chooses whether to stream. */
const GEMINI =
  /^\/v1(?:beta\/(?:models|tunedModels)|\/projects\/.+\/google\/models)\/([^/:]+):(generateContent|streamGenerateContent|countTokens|batchEmbedContents)$/;

/** A method of Vertex for models of Anthropic. */
const CLAUDE = /\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/;

type Body = Readonly<Record<string, unknown>>;

/** A request that the upstream received. */
export interface Received {
  readonly path: string;
  /** With its `?`; empty if there is none. */
  readonly query: string;
  readonly dialect: FormatName | null;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly body: any;
  /** Resolves at the end of the exchange: `whole` if the answer was written to its end, else `cut`. */
  readonly closed: Promise<'whole' | 'cut'>;
  /** Bytes of the answer that the connection accepted so far. */
  readonly written: () => number;
}

/** A script, or one that depends on the request. */
export type Play = Script | ((format: FormatName, body: Body) => Script);

/** An upstream on its own port that answers by script, in the format of the request path. */
export interface MockUpstream {
  /** Base URL, including /v1. */
  readonly url: string;
  /** Requests since the last call of `play`. */
  readonly requests: readonly Received[];
  /** The only request; throws if there are none or several. */
  only(): Received;
  /** Sets the answers of the next requests, one each; the last one also answers all later requests. */
  play(...scripts: Play[]): void;
  /** Resolves with the request of a number from 0. */
  received(index?: number): Promise<Received>;
  close(): Promise<void>;
}

/** Decides by a request how it is answered: in a format, or refused. */
export type Admit = (
  request: Pick<IncomingMessage, 'url' | 'headers'>,
  body: Body,
) => FormatName | NonNullable<Script['refuse']> | null;

const byPath: Admit = ({ url = '' }) => {
  const [path = ''] = url.split('?', 1);
  return GEMINI.test(path) ? 'gemini' : (PATHS[path] ?? null);
};

export async function startMockUpstream(admit: Admit = byPath): Promise<MockUpstream> {
  let scripts: Play[] = [];
  let requests: Received[] = [];
  let watchers: (() => void)[] = [];

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  // After 5 s, its default, Node may close an idle connection just as the daemon reuses it.
  server.keepAliveTimeout = 600_000;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    request.socket.setNoDelay(true);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = parse(text);
    const [path = '', query] = (request.url ?? '').split('?', 2);
    const admitted = admit(request, body);
    const method = (admitted === 'gemini' ? GEMINI : CLAUDE).exec(path);
    const dialect = typeof admitted === 'string' ? admitted : null;
    let written = 0;
    const closed = new Promise<'whole' | 'cut'>((resolve) => {
      response.once('close', () => resolve(response.writableFinished ? 'whole' : 'cut'));
    });
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    requests.push({
      path,
      query: query === undefined ? '' : `?${query}`,
      dialect,
      headers: request.headers,
      text,
      body,
      closed,
      written: () => written,
    });
    for (const watch of watchers) watch();
    if (admitted !== null && typeof admitted === 'object') {
      await play({ refuse: admitted }, 'chat', body, response, () => {});
      return;
    }
    if (script === undefined || dialect === null) {
      response.writeHead(script === undefined ? 599 : 404).end();
      return;
    }
    const [, model = '', verb] = method ?? [];
    const faultOf =
      { countTokens: countFault, batchEmbedContents: embedFault }[verb ?? ''] ?? geminiFault;
    const fault = admitted === 'gemini' && faultOf(body, model);
    if (fault) {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(fault));
      return;
    }
    // Where the path has what bodies of other formats have.
    const asked = method ? { ...body, model, stream: verb?.startsWith('stream') } : body;
    const played = typeof script === 'function' ? script(dialect, body) : script;
    await play(played, dialect, asked, response, (bytes) => {
      written += bytes;
    });
  };
  const { url, close } = await openServer(server);
  return {
    url: `${url}/v1`,
    close,
    get requests() {
      return requests;
    },
    only() {
      if (requests.length !== 1) throw new Error(`${requests.length} requests, not one`);
      return requests[0]!;
    },
    play(...next) {
      scripts = next;
      requests = [];
    },
    received(index = 0) {
      return new Promise((resolve) => {
        const look = () => {
          const found = requests[index];
          if (!found) return;
          watchers = watchers.filter((watch) => watch !== look);
          resolve(found);
        };
        watchers.push(look);
        look();
      });
    },
  };
}

function parse(text: string): Body {
  return valueOr(() => JSON.parse(text) as Body, {});
}

async function play(
  script: Script,
  dialect: FormatName,
  request: Body,
  response: ServerResponse,
  count: (bytes: number) => void,
): Promise<void> {
  const { before, refuse, raw } = script;
  if (before === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (before === 'silence') return;
  if (before !== undefined) await pause(before);
  if (response.destroyed) return;
  if (refuse) {
    const { status, body = '', headers = {} } = refuse;
    const isText = typeof body === 'string';
    const type = isText ? 'text/html; charset=utf-8' : 'application/json';
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(isText ? body : JSON.stringify(body));
    return;
  }
  const own = { 'request-id': 'req_upstream0001', ...script.headers };
  const streamed = request['stream'] === true;
  const type = raw?.type ?? (streamed ? 'text/event-stream; charset=utf-8' : 'application/json');
  response.writeHead(200, { 'content-type': type, ...own });
  const send = async (text: string | Buffer): Promise<void> => {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    for (const piece of script.cut ? script.cut(bytes) : [bytes]) {
      if (response.destroyed) return;
      count(piece.length);
      if (!response.write(piece)) await drained(response);
      if (script.cut) await turn();
    }
  };
  if (raw) {
    await send(raw.body);
  } else if (streamed) {
    const done = await stream(script, dialect, request, response, send);
    if (!done) return;
  } else if (!(await whole(script, dialect, request, response, send))) {
    return;
  }
  response.end();
}

/** @returns whether the answer ends normally */
async function whole(
  script: Script,
  dialect: FormatName,
  request: Body,
  response: ServerResponse,
  send: (text: string) => Promise<void>,
): Promise<boolean> {
  const text = JSON.stringify(ANSWERS[dialect](script, request));
  for (const step of script.steps ?? []) {
    if ('wait' in step) await pause(step.wait);
    if (!('fail' in step)) continue;
    await send(text.slice(0, text.length / 2));
    if (step.fail === 'reset') response.socket?.resetAndDestroy();
    return step.fail !== 'reset' && step.fail !== 'silence';
  }
  await send(text);
  return true;
}

async function stream(
  script: Script,
  dialect: FormatName,
  request: Body,
  response: ServerResponse,
  send: (text: string) => Promise<void>,
): Promise<boolean> {
  const frames = FRAMES[dialect](script, request);
  let events = 0;
  for (const frame of frames) {
    if (response.destroyed) return false;
    if (script.fault && events === script.fault.after) {
      const errors = errorFrames(dialect, script, request, events);
      return fail(script.fault.how, frame, errors, response, send);
    }
    if ('wait' in frame) await pause(frame.wait);
    else if ('comment' in frame) await send(`: ${frame.comment}\n\n`);
    else if ('fail' in frame) {
      const rest = frames.slice(frames.indexOf(frame) + 1).find((next) => 'data' in next);
      return fail(frame.fail, rest, errorFrames(dialect, script, request, events), response, send);
    } else {
      await send(written(frame, script.framing));
      events += 1;
    }
  }
  return true;
}

async function fail(
  fault: Fault,
  next: Frame | undefined,
  errors: readonly Frame[],
  response: ServerResponse,
  send: (text: string) => Promise<void>,
): Promise<boolean> {
  switch (fault) {
    case 'reset':
      // The bytes so far must arrive before the reset.
      await delay(20);
      response.socket?.resetAndDestroy();
      return false;
    case 'end':
      return true;
    case 'half-event': {
      const text = next ? written(next) : 'data: {"half';
      await send(text.slice(0, text.length / 2));
      return true;
    }
    case 'silence':
      return false;
    case 'error-event':
      for (const frame of errors) await send(written(frame));
      return true;
    case 'endless': {
      const text = next ? written(next) : ': more\n\n';
      while (!response.destroyed) {
        await send(text);
        await turn();
      }
      return false;
    }
  }
}

const ANSWERS = {
  chat: chatAnswer,
  responses: (script: Script, body: Body) => named(script, responsesAnswer(script, body)),
  messages: messagesAnswer,
  gemini: (script: Script, { model }: Body) => geminiAnswer(script, String(model)),
};
const FRAMES = {
  chat: chatFrames,
  responses: (script: Script, body: Body) => named(script, responsesFrames(script, body)),
  messages: messagesFrames,
  gemini: (script: Script, { model }: Body) => geminiFrames(script, String(model)),
};

/** An answer of responses whose identifiers are those of the script. */
function named<Answer>({ id }: Script, answer: Answer): Answer {
  if (id === undefined) return answer;
  return JSON.parse(JSON.stringify(answer).replaceAll('_upstream', `_${id}`)) as Answer;
}

function errorFrames(dialect: FormatName, script: Script, request: Body, next: number): Frame[] {
  if (dialect === 'responses') return responsesErrorFrames(script, request, next);
  if (dialect === 'messages') return [{ event: 'error', data: MESSAGES_ERROR }];
  if (dialect === 'gemini') return [{ data: GEMINI_ERROR }];
  return [{ data: CHAT_ERROR }];
}

/** The bytes of an event. */
function written(frame: Frame, framing: Framing = {}): string {
  if (!('data' in frame)) return '';
  const { line = '\n', comments = false, multiline = false, tight = false } = framing;
  const json = typeof frame.data === 'string' ? frame.data : undefined;
  const text = json ?? JSON.stringify(frame.data, null, multiline ? 1 : 0);
  const space = tight ? '' : ' ';
  const lines = [
    ...(comments ? [':', ': still here'] : []),
    ...(frame.event === undefined ? [] : [`event:${space}${frame.event}`]),
    ...text.split('\n').map((part) => `data:${space}${part}`),
    ...(comments ? ['id: 7', 'retry: 100'] : []),
  ];
  return lines.map((part) => part + line).join('') + line;
}

async function pause(wait: number | Promise<unknown>): Promise<void> {
  if (typeof wait === 'number') await delay(wait);
  else await wait;
}

/** Resolves when a response drains or closes. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off('drain', go);
      response.off('close', go);
      resolve();
    };
    response.on('drain', go);
    response.on('close', go);
  });
}
