import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Form, TextArea } from '../../components/field.tsx';
import { Empty } from '../../components/states.tsx';
import { AnswerMessage } from './answer-message.tsx';
import { Pictures, toEnd } from './composer.tsx';
import { callsOf } from './formats/answer.ts';
import type { AnswerTurn, Turn, UserTurn } from './formats/conversation.ts';
import type { Talk } from './store.ts';

/** Pixels from the end of the page within which the page follows a stream. */
const FOLLOWED = 120;

/** The messages of the conversation, or ideas for the first one. */
export function Turns({ talk }: { readonly talk: Talk }) {
  const { turns } = talk.chat.state;
  useEffect(() => {
    if (turns.length > 0) toEnd();
  }, []);
  useFollow(turns);
  let answers = 0;
  return (
    <>
      {turns.length === 0 && <FirstMessages talk={talk} />}
      {turns.length > 0 && (
        <div class="stack">
          {turns.map((turn, index) => {
            const common = { talk, isLast: index === turns.length - 1 };
            if (turn.type === 'user') return <UserMessage key={turn.id} {...common} turn={turn} />;
            answers += 1;
            return <AnswerMessage key={turn.id} {...common} turn={turn} number={answers} />;
          })}
        </div>
      )}
      <Announcement turns={turns} />
    </>
  );
}

const FIRST_MESSAGES = [
  'Write a haiku about the sea.',
  'Explain HTTP caching in five short points.',
];

function FirstMessages({ talk: { chat, model, field } }: { readonly talk: Talk }) {
  const choose = (text: string) => {
    const { text: typed } = chat.state.draft;
    chat.changeDraft({ text: typed === '' ? text : `${typed}\n${text}` });
    field.current!.focus();
  };
  return (
    <Empty title={`Say something to ${model.name ?? model.id}`}>
      {model.description && <p>{model.description}</p>}
      <div class="row">
        {FIRST_MESSAGES.map((text) => (
          <Button key={text} onClick={() => choose(text)}>
            {text}
          </Button>
        ))}
      </div>
    </Empty>
  );
}

/** Says to screen readers that an answer ended, not each of its pieces. */
function Announcement({ turns }: { readonly turns: readonly Turn[] }) {
  const [text, setText] = useState('');
  const last = turns.at(-1);
  const isStreaming = last?.type === 'answer' && last.isStreaming;
  const wasStreaming = useRef(false);
  useEffect(() => {
    if (isStreaming) setText('Waiting for the answer');
    else if (wasStreaming.current && last?.type === 'answer') setText(endOf(last));
    wasStreaming.current = isStreaming;
  }, [isStreaming]);
  return (
    <p class="hidden" role="status">
      {text}
    </p>
  );
}

function endOf({ answer, isStopped }: AnswerTurn): string {
  if (isStopped) return 'The answer is stopped';
  if (answer.error) return 'The answer failed';
  const calls = callsOf(answer).length;
  if (calls === 0) return 'The answer is complete';
  return `The answer is complete and calls ${calls === 1 ? 'a tool' : `${calls} tools`}`;
}

/** Keeps the end of the page in sight while it grows, if the reader was there. */
function useFollow(turns: readonly Turn[]): void {
  const height = useRef(0);
  useEffect(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const wasAtEnd = scrollY + clientHeight >= height.current - FOLLOWED;
    const grew = height.current !== 0 && scrollHeight > height.current;
    height.current = scrollHeight;
    if (grew && wasAtEnd) scrollTo(0, scrollHeight);
  }, [turns]);
}

interface UserMessageProps {
  readonly talk: Talk;
  readonly turn: UserTurn;
  readonly isLast: boolean;
}

function UserMessage(props: UserMessageProps) {
  const { id, text, pictures } = props.turn;
  const { chat, isBlocked } = props.talk;
  return (
    <article class="stack gap-s message user" aria-label="You">
      <h2 class="hidden">You</h2>
      {pictures.length > 0 && <Pictures pictures={pictures} />}
      {chat.state.edit?.id === id ? (
        <EditForm {...props} text={chat.state.edit.text} />
      ) : (
        <>
          {text !== '' && (
            <p class="said" dir="auto">
              {text}
            </p>
          )}
          <div class="row gap-0 actions">
            <Button kind="quiet" disabled={isBlocked} onClick={() => chat.changeEdit({ id, text })}>
              Edit
            </Button>
            <CopyButton text={text} label="message" />
          </div>
        </>
      )}
    </article>
  );
}

interface EditFormProps extends UserMessageProps {
  readonly text: string;
}

function EditForm({ talk, turn, isLast, text }: EditFormProps) {
  const { chat, model, field } = talk;
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current!.querySelector('textarea')!.focus(), []);
  const isEmpty = text.trim() === '' && turn.pictures.length === 0;
  const isBlocked = talk.isBlocked || isEmpty;
  const submit = () => {
    if (isBlocked) return;
    chat.sendEdit(model);
    field.current!.focus();
  };
  return (
    <Form ref={form} class="stack" onSubmit={submit}>
      <TextArea
        label="Edit the message"
        hint={isLast ? undefined : 'The messages after this one are replaced.'}
        dir="auto"
        rows={4}
        value={text}
        onValue={(value) => chat.changeEdit({ id: turn.id, text: value })}
      />
      <div class="row">
        <Button kind="primary" type="submit" disabled={isBlocked}>
          Send again
        </Button>
        <Button onClick={() => chat.changeEdit(null)}>Cancel</Button>
      </div>
    </Form>
  );
}
