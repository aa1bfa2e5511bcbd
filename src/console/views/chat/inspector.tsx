import { useEffect, useRef } from 'preact/hooks';
import { CloseButton } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { formatDuration, formatNumber } from '../../components/format.ts';
import { sdkCode } from '../../components/shown-request.ts';
import { Snippets } from '../../components/snippets.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { KEPT_FIRST } from './events-kept.ts';
import type { AnswerTurn, FormatName } from './formats/conversation.ts';
import { FORMATS } from './formats/formats.ts';
import type { Json } from './formats/json.ts';

interface InspectorProps {
  readonly turn: AnswerTurn;
  readonly onClose: () => void;
}

/** The request of an answer, the events as they came, and code that repeats it. */
export function Inspector({ turn, onClose }: InspectorProps) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    title.current!.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, [turn.id]);
  return (
    <section
      class="inspector card"
      aria-label="Request and events"
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <header class="row">
        <h2 ref={title} tabIndex={-1}>
          Request and events
        </h2>
        <span class="end">
          <CloseButton onClick={onClose} />
        </span>
      </header>
      <Exchange turn={turn} />
    </section>
  );
}

/** The parts of the inspector. */
export function Exchange({ turn }: Pick<InspectorProps, 'turn'>) {
  const { path } = FORMATS[turn.format];
  const { body } = turn;
  return (
    <div class="stack">
      <p class="facts">
        <span>POST /{path}</span>
        {turn.status && <span>Status {turn.status}</span>}
        {turn.requestId && <code title="Finds the request in the log">{turn.requestId}</code>}
      </p>
      <Tabs
        label="Parts of the exchange"
        tabs={[
          {
            label: 'Request',
            content: () => <Code label="request" text={JSON.stringify(body, null, 2)} />,
          },
          { label: 'Events', content: () => <Events turn={turn} /> },
          {
            label: 'Code',
            content: () => (
              <>
                <Snippets
                  request={{ method: 'POST', path, json: body, isStream: true }}
                  others={[sdkOf(turn.format, body)]}
                />
                {JSON.stringify(body).includes('…"') && (
                  <p class="hint">Bytes of images are shortened here: put yours in their place.</p>
                )}
              </>
            ),
          },
        ]}
      />
    </div>
  );
}

function Events({ turn: { events, eventsOmitted, isStreaming } }: Pick<InspectorProps, 'turn'>) {
  if (events.length === 0) {
    return (
      <p class="muted">
        {isStreaming
          ? 'None yet.'
          : eventsOmitted > 0
            ? `${formatNumber(eventsOmitted)} events were too many to be kept for a reload.`
            : 'The response had no events.'}
      </p>
    );
  }
  const lines = events.map(
    ({ at, event, data }) =>
      `+${formatDuration(at)} ${event === 'message' ? '' : `${event} `}${data}`,
  );
  if (eventsOmitted > 0) {
    lines.splice(KEPT_FIRST, 0, `… ${formatNumber(eventsOmitted)} events are not shown …`);
  }
  return (
    <>
      <p class="hint">
        {formatNumber(events.length + eventsOmitted)} events, with the time since the request
      </p>
      <Code label="events" text={lines.join('\n')} />
    </>
  );
}

/** Calls of the official SDKs, and what prints the text of the stream. */
const CALLS = {
  chat: {
    sdk: 'OpenAI',
    method: 'chat.completions.create',
    print: ["process.stdout.write(event.choices[0]?.delta.content ?? '');"],
  },
  responses: {
    sdk: 'OpenAI',
    method: 'responses.create',
    print: ["if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);"],
  },
  messages: {
    sdk: 'Anthropic',
    method: 'messages.create',
    print: [
      "if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {",
      '  process.stdout.write(event.delta.text);',
      '}',
    ],
  },
} as const;

/** Code that sends a request by the SDK of its format. */
function sdkOf(format: FormatName, body: Json): readonly [label: string, text: string] {
  const { sdk, method, print } = CALLS[format];
  return sdkCode(sdk, [
    `const stream = await client.${method}(${JSON.stringify(body, null, 2)});`,
    'for await (const event of stream) {',
    ...print.map((line) => `  ${line}`),
    '}',
  ]);
}
