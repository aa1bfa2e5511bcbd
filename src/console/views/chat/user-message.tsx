import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Form, TextArea } from '../../components/field.tsx';
import { Pictures } from './composer.tsx';
import type { UserTurn } from './formats/conversation.ts';
import type { Talk } from './talk.ts';

interface UserMessageProps {
  readonly talk: Talk;
  readonly turn: UserTurn;
  readonly isLast: boolean;
}

export function UserMessage(props: UserMessageProps) {
  const { id, text, pictures } = props.turn;
  const { chat, isBlocked } = props.talk;
  return (
    <article class="stack message user" aria-label="You">
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
          <div class="row actions">
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
        hint={isLast ? undefined : 'What follows this message is replaced.'}
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
