import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { ApiError, isAborted, send } from '../../api/request.ts';
import type { Session } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { Form } from '../../components/field.tsx';
import { useObjectUrl } from '../../components/files.ts';
import { formatBytes, formatDuration } from '../../components/format.ts';
import { parsed, pretty } from '../../components/json.ts';
import { Snippets } from '../../components/snippets.tsx';
import { ErrorState } from '../../components/states.tsx';
import { bodyOf, type Endpoint } from './document.ts';
import { type Draft, formOf, pathOf, shownRequest } from './draft.ts';
import { Editor } from './editor.tsx';

/** Endpoints that a session cannot use: one begins sessions, the other has a token of its own. */
const NOT_SENT = ['POST /v1/session', 'DELETE /v1/session', 'GET /metrics'];

interface TrialProps {
  readonly endpoint: Endpoint;
  readonly example: Draft;
  readonly session: Session | null;
}

/** A request to edit, to copy and to send. */
export function Trial({ endpoint, example, session }: TrialProps) {
  const [draft, setDraft] = useState(example);
  const [answer, setAnswer] = useState<Answer>();
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const isOpen = endpoint.security?.length === 0;
  const canSend = (session !== null || isOpen) && !NOT_SENT.includes(endpointName(endpoint));
  const { error, isBusy, run } = useAction(async () => {
    const controller = new AbortController();
    running.current = controller;
    setAnswer(undefined);
    const startedAt = performance.now();
    try {
      await readAnswer(await sendDraft(endpoint, draft, controller.signal), startedAt, setAnswer);
    } catch (failure) {
      if (!isAborted(failure)) throw failure;
    }
  });
  return (
    <div class="columns trial">
      <Form class="stack" onSubmit={run}>
        <Editor endpoint={endpoint} draft={draft} onDraft={setDraft} />
        {canSend && (
          <div class="row">
            <Button kind="primary" type="submit" isBusy={isBusy}>
              Send
            </Button>
            {isBusy && <Button onClick={() => running.current?.abort()}>Stop</Button>}
          </div>
        )}
        {session === null && !isOpen && <p class="muted">Sign in to send it from here.</p>}
      </Form>
      <div class="stack">
        <Snippets request={shownRequest(endpoint, draft)} />
        <div aria-live="polite">
          {error ? <ErrorState error={error} /> : answer && <AnswerView answer={answer} />}
        </div>
      </div>
    </div>
  );
}

const endpointName = ({ method, path }: Endpoint): string => `${method} ${path}`;

async function sendDraft(endpoint: Endpoint, draft: Draft, signal: AbortSignal): Promise<Response> {
  const { method } = endpoint;
  const body = bodyOf(endpoint);
  const path = pathOf(endpoint, draft);
  if (!body) return send(path, { method, signal });
  if (body.isForm) return send(path, { method, signal, form: await formOf(endpoint, draft) });
  const json = parsed(draft.json);
  if (json === undefined) throw new ApiError('The body is not valid JSON.');
  return send(path, { method, signal, json });
}

/** The answer to a request that the reader sent. */
interface Answer {
  readonly status: number;
  readonly milliseconds: number;
  readonly type: string;
  readonly requestId: string | null;
  /** Text of the body, so far where it streams. */
  readonly text?: string;
  readonly blob?: Blob;
}

/** Characters of a body that are shown. */
const MAX_SHOWN = 100_000;

/** Reads an answer. @param onChange gets it again as a stream grows */
async function readAnswer(
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
function AnswerView({ answer }: { readonly answer: Answer }) {
  const { status, milliseconds, type, requestId, text, blob } = answer;
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
