import type { RequestRecord } from '../../../store/requests/record.ts';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { useJson } from '../../api/resource.ts';
import { CHAT_PROMPT, keepFirst } from '../../api/storage.ts';
import { Button } from '../../components/button.tsx';
import { Code, CopyButton } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FactList, Failure, type NamedFact } from '../../components/fact-list.tsx';
import {
  formatCredits,
  formatDuration,
  formatNumber,
  formatTime,
} from '../../components/format.ts';
import { Link, open } from '../../components/navigation.tsx';
import { curlOf } from '../../components/shown-request.ts';
import { ErrorState, Loaded } from '../../components/states.tsx';
import { answerOf, promptOf, type ShownTurn } from './conversation.ts';

interface Detail extends RequestRecord {
  readonly bodies: { readonly request: string; readonly answer: string | null } | null;
}

interface RequestDetailProps {
  readonly request: RequestRecord;
  readonly onClose: () => void;
}

/** What is known of a request, at the side of the list. */
export function RequestDetail({ request, onClose }: RequestDetailProps) {
  const path = `v1/admin/requests/${encodeURIComponent(request.id)}`;
  const detail = useJson<Detail>(path);
  return (
    <Dialog title="Request" isDrawer onClose={onClose}>
      <p class="row">
        <code>{request.id}</code>
        <CopyButton text={request.id} label="request id" />
      </p>
      {request.error && <Failure error={request.error} />}
      <Timeline request={request} />
      <Facts request={request} />
      <Loaded resource={detail}>
        {({ bodies }) =>
          bodies === null ? (
            <p class="muted">
              Its bodies were not kept. <code>requests.bodies</code> of the configuration, or{' '}
              <code>oriel keys set KEY --bodies errors</code>, keeps those of later requests.
            </p>
          ) : (
            <Bodies request={request} bodies={bodies} onDeleted={detail.reload} />
          )
        }
      </Loaded>
    </Dialog>
  );
}

/** Bars for the time before the first attempt, for each attempt, and for the first token. */
function Timeline({ request }: { readonly request: RequestRecord }) {
  const { timeline, latency_ms: total, first_token_ms: first } = request;
  const all = Math.max(1, total);
  const bar = (start: number, length: number) => ({
    left: `${(100 * Math.min(start, all)) / all}%`,
    width: `max(3px, ${(100 * Math.min(length, all - start)) / all}%)`,
  });
  const queue = timeline[0]?.start_ms ?? total;
  const rows: readonly (readonly [string, string, number, number, string?])[] = [
    ['Before a provider', '', 0, queue],
    ...timeline.map((one) => {
      const { provider, model, key, error, status, message } = one;
      const name = `${provider} · ${model}${key === null ? '' : ` (${key})`}`;
      const result = [status, error, message].filter((part) => part !== null).join(' ');
      return [name, error === null ? 'good' : 'bad', one.start_ms, one.latency_ms, result] as const;
    }),
    ...(first === null ? [] : [['First token', 'token', first, 0] as const]),
  ];
  return (
    <ol class="request-timeline" aria-label="Timeline">
      {rows.map(([name, tone, start, length, result], index) => (
        <li key={index}>
          <span>{name}</span>
          <span class="number">
            {tone === 'token' ? `after ${formatDuration(start)}` : formatDuration(length)}
          </span>
          <span class="track whole" aria-hidden="true">
            <i class={tone} style={bar(start, length)} />
          </span>
          {tone === 'bad' && <small class="fault whole">{result}</small>}
        </li>
      ))}
    </ol>
  );
}

function Facts({ request }: { readonly request: RequestRecord }) {
  const { account, key, task_id: task, tags, upstream_model: upstreamModel } = request;
  const number = (value: number | null) => value !== null && formatNumber(value);
  const facts: readonly NamedFact[] = [
    ['Ended', formatTime(request.ended)],
    ['Endpoint', `${request.method} ${request.route}`],
    ['Status', String(request.status)],
    ['Account', account?.name],
    ['Key', key && `${key.name} (${key.id})`],
    ['Model', request.model ?? request.named_model],
    [
      'Provider',
      request.provider && `${request.provider}${upstreamModel ? `, ${upstreamModel}` : ''}`,
    ],
    ['Took', formatDuration(request.latency_ms)],
    ['Input tokens', number(request.input_tokens)],
    ['Cached input', number(request.cached_input_tokens)],
    ['Output tokens', number(request.output_tokens)],
    ['Credits', request.credits !== null && formatCredits(request.credits)],
    ['Cache', request.cache],
    ['Trace', request.trace_id],
    [
      'Tags',
      Object.entries(tags)
        .map(([name, value]) => `${name}=${value}`)
        .join(', '),
    ],
    ['Task', task && <Link to={`tasks/${encodeURIComponent(task)}`}>{task}</Link>],
  ];
  return <FactList class="request-facts" facts={facts} />;
}

interface BodiesProps {
  readonly request: RequestRecord;
  readonly bodies: NonNullable<Detail['bodies']>;
  readonly onDeleted: () => void;
}

function Bodies({ request, bodies, onDeleted }: BodiesProps) {
  const prompt = promptOf(bodies.request);
  const answer = bodies.answer === null ? [] : answerOf(bodies.answer);
  const asked = prompt?.findLast(({ role }) => role === 'user')?.text;
  const remove = useAction(async () => {
    const json = { id: request.id, bodies: true };
    await sendJson('v1/admin/requests/remove', { method: 'POST', json });
    onDeleted();
  });
  const openInChat = () => {
    keepFirst(CHAT_PROMPT, [asked]);
    open(`chat?model=${encodeURIComponent(request.model ?? '')}`);
  };
  return (
    <section class="stack">
      <p class="row">
        {asked !== undefined && request.model !== null && (
          <Button onClick={openInChat}>Open in Chat</Button>
        )}
        <Button onClick={() => remove.run()} isBusy={remove.isBusy}>
          Delete the bodies
        </Button>
      </p>
      {remove.error && <ErrorState error={remove.error} />}
      <Turns title="Prompt" turns={prompt} body={bodies.request} />
      {bodies.answer !== null && <Turns title="Answer" turns={answer} body={bodies.answer} />}
      {prompt !== null && (
        <details>
          <summary>Copy as curl</summary>
          <Code
            label="curl"
            text={curlOf({
              method: 'POST',
              path: request.route.slice(1).replace(/:model\b/, request.model ?? 'MODEL'),
              json: JSON.parse(bodies.request),
            })}
          />
        </details>
      )}
    </section>
  );
}

interface TurnsProps {
  readonly title: string;
  /** Null where the body is no whole JSON. */
  readonly turns: readonly ShownTurn[] | null;
  readonly body: string;
}

function Turns({ title, turns, body }: TurnsProps) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {turns?.map(({ role, text }, index) => (
        <div key={index} class="request-turn framed">
          <small class="muted">{role}</small>
          <p>{text}</p>
        </div>
      )) ?? <pre class="request-turn framed">{body}</pre>}
    </section>
  );
}
