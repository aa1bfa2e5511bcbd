import { ApiError } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { formatCredits, formatDuration, formatNumber } from '../../components/format.ts';
import { ErrorState } from '../../components/states.tsx';
import { Calls } from './calls.tsx';
import { type Answer, type Part, textOf } from './formats/answer.ts';
import type { AnswerTurn } from './formats/conversation.ts';
import { FORMATS } from './formats/formats.ts';
import { RichText } from './rich-text.tsx';

interface AnswerMessageProps {
  readonly turn: AnswerTurn;
  /** Of the answers of the conversation, from 1. */
  readonly number: number;
  readonly isLast: boolean;
  readonly isBlocked: boolean;
  readonly isInspected: boolean;
  readonly onRetry: () => void;
  readonly onInspect: () => void;
  readonly onResult: (index: number, text: string) => void;
  readonly onSendResults: () => void;
}

export function AnswerMessage(props: AnswerMessageProps) {
  const { turn, number, isLast, isBlocked, isInspected, onRetry, onInspect } = props;
  const { answer, isStreaming, isStopped } = turn;
  const { error, parts } = answer;
  const name = `answer ${number}`;
  return (
    <article
      class="stack message answer"
      aria-label={`Answer of ${turn.model}`}
      aria-busy={isStreaming}
    >
      <h2>
        {turn.model} <span class="badge">{FORMATS[turn.format].label}</span>
      </h2>
      {parts.map((part, index) => (
        <PartView
          key={index}
          of={name}
          part={part}
          isOpen={isStreaming && index === parts.length - 1}
        />
      ))}
      {isStreaming && parts.length === 0 && <p class="muted pulse">Waiting for the first token…</p>}
      <Calls
        turn={turn}
        of={name}
        isLast={isLast}
        isBlocked={isBlocked}
        onResult={props.onResult}
        onSend={props.onSendResults}
      />
      {turn.leftOut && (
        <p class="notice warn">The server dropped these fields of the request: {turn.leftOut}</p>
      )}
      {error && (
        <ErrorState
          error={new ApiError(error.message, error)}
          onRetry={isLast && !isBlocked ? onRetry : undefined}
        />
      )}
      {isStopped && <p class="muted">Stopped. What had arrived stays in the conversation.</p>}
      <StopNote answer={answer} />
      <div class="row actions">
        <Measures turn={turn} />
        <span class="row end">
          {textOf(answer) !== '' && <CopyButton text={textOf(answer)} label="answer" />}
          {isLast && !error && (
            <Button kind="quiet" disabled={isBlocked} onClick={onRetry}>
              Retry
            </Button>
          )}
          <Button kind="quiet" aria-expanded={isInspected} onClick={onInspect}>
            Request and events
          </Button>
        </span>
      </div>
    </article>
  );
}

interface PartViewProps {
  readonly part: Part;
  readonly of: string;
  /** Whether it still grows. */
  readonly isOpen: boolean;
}

function PartView({ part, of, isOpen }: PartViewProps) {
  switch (part.type) {
    case 'text':
      return <RichText of={of} text={part.text} />;
    case 'reasoning':
      return (
        <details class="reasoning">
          <summary>{isOpen ? 'Reasoning…' : 'Reasoning'}</summary>
          <p class="said" dir="auto">
            {part.text}
          </p>
        </details>
      );
    case 'refusal':
      return (
        <p class="notice warn" dir="auto">
          Refused: {part.text}
        </p>
      );
    case 'other':
      return <p class="badge">{part.name || 'another part'}</p>;
    case 'call':
      return null;
  }
}

const NOTES: Readonly<Record<string, string | null>> = {
  stop: null,
  calls: null,
  length: 'The answer ends here because it reached the limit of tokens.',
  refusal: 'The answer was ended by a content filter.',
};

function StopNote({ answer: { stop } }: { readonly answer: Answer }) {
  const note = stop === null ? null : (NOTES[stop] ?? `Ended with ${stop}.`);
  if (note === null || NOTES[stop!] === null) return null;
  return <p class="notice warn">{note}</p>;
}

function Measures({ turn }: Pick<AnswerMessageProps, 'turn'>) {
  const { firstToken, duration, answer, credits } = turn;
  const { usage } = answer;
  const writing = duration !== null && firstToken !== null ? duration - firstToken : 0;
  const facts: readonly (readonly [name: string, value: string] | false)[] = [
    firstToken !== null && ['First token', formatDuration(firstToken)],
    duration !== null && ['Total', formatDuration(duration)],
    usage !== null && ['Input', `${formatNumber(usage.input)} tokens`],
    usage !== null && usage.cached > 0 && ['Cached', formatNumber(usage.cached)],
    usage !== null && ['Output', `${formatNumber(usage.output)} tokens`],
    usage !== null && usage.reasoning > 0 && ['Reasoning', formatNumber(usage.reasoning)],
    usage !== null &&
      writing >= 100 && ['Speed', `${formatNumber((usage.output * 1000) / writing)} tokens/s`],
    credits !== null && ['Credits', formatCredits(credits)],
  ];
  return (
    <dl class="facts measures">
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
