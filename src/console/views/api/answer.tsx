import type { ApiError } from '../../api/request.ts';
import { useObjectUrl } from '../../components/blob.ts';
import { Code } from '../../components/copy.tsx';
import { formatBytes, formatDuration } from '../../components/format.ts';
import { pretty } from '../../components/json.ts';
import { ErrorState } from '../../components/states.tsx';

/** The answer to a request that the reader sent. */
export interface Answer {
  readonly status: number;
  readonly milliseconds: number;
  readonly type: string;
  readonly requestId: string | null;
  readonly error?: ApiError;
  /** Text of the body, so far where it streams. */
  readonly text?: string;
  readonly blob?: Blob;
}

/** Characters of a body that are shown. */
const MAX_SHOWN = 100_000;

/** Reads an answer. @param onChange gets it again as a stream grows */
export async function readAnswer(
  response: Response,
  startedAt: number,
  onChange: (answer: Answer) => void,
): Promise<void> {
  const { status, headers } = response;
  const type = (headers.get('content-type') ?? '').split(';')[0]!;
  const answer = () => ({
    status,
    type,
    requestId: headers.get('x-request-id'),
    milliseconds: performance.now() - startedAt,
  });
  if (!/json|text|xml/.test(type)) return onChange({ ...answer(), blob: await response.blob() });
  let text = '';
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    if (type === 'text/event-stream') onChange({ ...answer(), text });
  }
  onChange({ ...answer(), text: type === 'application/json' ? pretty(text) : text });
}

/** Status, time and body of an answer. */
export function AnswerView({ answer }: { readonly answer: Answer }) {
  const { status, milliseconds, type, requestId, error, text, blob } = answer;
  if (error) return <ErrorState error={error} />;
  return (
    <div class="stack">
      <p class="facts">
        <span class="badge good">{status}</span>
        <span>{formatDuration(milliseconds)}</span>
        <span>{type}</span>
        {blob && <span>{formatBytes(blob.size)}</span>}
        {requestId && <code>{requestId}</code>}
      </p>
      {text !== undefined && <Code label="answer" text={shortened(text)} />}
      {blob && <FileView blob={blob} />}
    </div>
  );
}

function shortened(text: string): string {
  if (text.length <= MAX_SHOWN) return text;
  return `${text.slice(0, MAX_SHOWN)}\n… ${text.length - MAX_SHOWN} further characters`;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/zip': 'zip',
  'audio/mpeg': 'mp3',
  'image/jpeg': 'jpg',
};

function FileView({ blob }: { readonly blob: Blob }) {
  const url = useObjectUrl(blob);
  if (url === undefined) return null;
  const { type } = blob;
  const name = `answer.${EXTENSIONS[type] ?? type.split('/')[1] ?? 'bin'}`;
  return (
    <>
      {type.startsWith('image/') && <img src={url} alt="The answer" />}
      {/* biome-ignore lint/a11y/useMediaCaption: what was made has no captions */}
      {type.startsWith('audio/') && <audio src={url} controls />}
      <p>
        <a class="button" href={url} download={name}>
          Save {name}
        </a>
      </p>
    </>
  );
}
