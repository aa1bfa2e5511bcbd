import { chatAnswer, chatFrames } from '../../text/render-chat.ts';
import { messagesAnswer, messagesFrames } from '../../text/render-messages.ts';
import { responsesAnswer, responsesFrames } from '../../text/render-responses.ts';
import { type Frame, type Script, type Step, USAGE } from '../../text/script.ts';
import { Random } from '../random.ts';
import { mutatedJson, strangeText } from './json.ts';

export type Dialect = 'chat' | 'responses' | 'messages';

type Body = Readonly<Record<string, unknown>>;

const ANSWERS = { chat: chatAnswer, responses: responsesAnswer, messages: messagesAnswer };
const FRAMES = { chat: chatFrames, responses: responsesFrames, messages: messagesFrames };

/** Bytes of an upstream: pieces, of which the end may be missing. */
export interface UpstreamBytes {
  readonly type: string;
  readonly pieces: readonly Buffer[];
  readonly end: 'end' | 'reset' | 'silence';
}

function frameText(frame: Frame, line = '\n'): string {
  if (!('data' in frame)) return 'comment' in frame ? `: ${frame.comment}${line}${line}` : '';
  const data = typeof frame.data === 'string' ? frame.data : JSON.stringify(frame.data);
  const name = frame.event === undefined ? '' : `event: ${frame.event}${line}`;
  return `${name}data: ${data}${line}${line}`;
}

/** A well-formed response. */
export function steadyFrames(dialect: Dialect, request: Body, script: Script): readonly string[] {
  return FRAMES[dialect](script, request).map((frame) => frameText(frame));
}

export function steadyAnswer(dialect: Dialect, request: Body, script: Script): string {
  return JSON.stringify(ANSWERS[dialect](script, request));
}

function randomScript(random: Random): Script {
  const steps: Step[] = [];
  const count = 1 + random.below(4);
  for (let index = 0; index < count; index += 1) {
    switch (random.below(4)) {
      case 0:
        steps.push({ reasoning: 'Let me think', signature: 'sig', encrypted: 'enc' });
        break;
      case 1:
        steps.push({ call: 'weather', id: `call_${index}`, arguments: '{"city":"Bonn"}' });
        break;
      case 2:
        steps.push({ text: strangeText(random) });
        break;
      default:
        steps.push({
          text: 'Hello from the upstream',
          pieces: ['Hel', 'lo from ', 'the upstream'],
        });
    }
  }
  return { steps, ...(random.chance(0.9) && { usage: USAGE }) };
}

/** Bytes that hostile servers send in place of an event. */
const HOSTILE: readonly string[] = [
  'data: {"half',
  'data: {}\n\n',
  'data: null\n\n',
  'data: []\n\n',
  'data: [DONE]\n\ndata: [DONE]\n\n',
  'data:\n\n',
  'data: {"choices":null}\n\n',
  'data: {"choices":[{"delta":{"content":{"a":1}},"index":-1}]}\n\n',
  'data: {"choices":[{"delta":{"tool_calls":[{"index":1e9,"function":{"arguments":5}}]}}]}\n\n',
  'event: error\ndata: {"type":"error"}\n\n',
  'event: message_start\ndata: {"type":"message_start","message":null}\n\n',
  'data: {"type":"response.output_item.added","output_index":-5,"item":null}\n\n',
  'data: {"type":"content_block_delta","index":99,"delta":{"type":"text_delta","text":7}}\n\n',
  'data: {"usage":{"prompt_tokens":-1,"completion_tokens":1e308}}\n\n',
  `data: ${'['.repeat(20_000)}\n\n`,
  `data: {"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}\n\n`,
  `: ${'x'.repeat(70_000)}\n`,
  `data: "${'y'.repeat(200_000)}"\n\n`,
  'id: \0\nretry: 99999999999999999999\n\n',
  '\r\r\n\n\r',
  '\ufeffdata: {"choices":[]}\n\n',
  'data: {"choices":[{"delta":{"content":"\\ud800"}}]}\n\n',
  'HTTP/1.1 200 OK\r\n\r\n',
];

/** Splits bytes into pieces of random length. */
function cut(bytes: Buffer, random: Random): Buffer[] {
  if (random.chance(0.3)) return [bytes];
  const pieces: Buffer[] = [];
  const largest = random.pick([1, 3, 40, 1000]);
  for (let at = 0; at < bytes.length && pieces.length < 2000; ) {
    const length = pieces.length === 1999 ? bytes.length : 1 + random.below(largest);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

/** Response of a misbehaving upstream, determined by seed, number, format and request. */
export function fuzzedAnswer(dialect: Dialect, request: Body, seed: string): UpstreamBytes {
  const random = new Random(`upstream:${dialect}:${seed}`);
  const script = randomScript(random);
  const isStream = request['stream'] === true;
  let text: string;
  if (isStream) {
    const line = random.pick(['\n', '\n', '\r\n', '\r']);
    const frames = FRAMES[dialect](script, request).map((frame) =>
      'data' in frame && typeof frame.data === 'object' && random.chance(0.15)
        ? frameText({ ...frame, data: mutatedJson(frame.data, random) }, line)
        : frameText(frame, line),
    );
    const wounds = random.below(4);
    for (let wound = 0; wound < wounds; wound += 1) {
      const at = random.below(frames.length + 1);
      const how = random.below(5);
      if (how === 0) frames.splice(at, 1);
      else if (how === 1) frames.splice(at, 0, random.pick(HOSTILE));
      else if (how === 2) frames.splice(at, 0, random.pick(frames) ?? '');
      else if (how === 3) frames.splice(at, 2, ...frames.slice(at, at + 2).reverse());
      else frames[at] = (frames[at] ?? '').slice(0, random.below(60));
    }
    text = frames.join('');
  } else {
    const answer = ANSWERS[dialect](script, request);
    text = JSON.stringify(random.chance(0.7) ? mutatedJson(answer, random) : answer);
    if (random.chance(0.1)) text = text.slice(0, random.below(text.length));
    if (random.chance(0.05)) text = random.pick(HOSTILE);
  }
  let bytes = Buffer.from(text);
  if (random.chance(0.1)) {
    const at = random.below(bytes.length + 1);
    bytes = Buffer.concat([
      bytes.subarray(0, at),
      random.bytes(1 + random.below(8)),
      bytes.subarray(at),
    ]);
  }
  if (random.chance(0.2)) bytes = bytes.subarray(0, random.below(bytes.length + 1));
  const type = random.chance(0.93)
    ? isStream
      ? 'text/event-stream; charset=utf-8'
      : 'application/json'
    : random.pick([
        'text/html',
        'application/json',
        'text/event-stream',
        'application/octet-stream',
      ]);
  const end = random.chance(0.85) ? 'end' : random.pick(['reset', 'silence'] as const);
  return { type, pieces: cut(bytes, random), end };
}
