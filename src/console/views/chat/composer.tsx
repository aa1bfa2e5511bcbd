import { useState } from 'preact/hooks';
import { Button, CloseButton, FileButton } from '../../components/button.tsx';
import { Form, reporting } from '../../components/field.tsx';
import { showToast } from '../../components/toast.tsx';
import { useTransfers } from '../../components/transfer.ts';
import type { Picture } from './formats/conversation.ts';
import { pictureOf } from './pictures.ts';
import { type Talk, toEnd } from './talk.ts';

/** The field for the next message. */
export function Composer({ talk: { chat, model, field, obstacle } }: { readonly talk: Talk }) {
  const [isReading, setReading] = useState(false);
  const { draft } = chat.state;
  const isEmpty = draft.text.trim() === '' && draft.pictures.length === 0;
  const canSend = !isEmpty && !chat.isStreaming && !isReading && obstacle === null;
  const add = async (files: readonly File[]) => {
    setReading(true);
    const pictures: Picture[] = [];
    for (const result of await Promise.allSettled(files.map(pictureOf))) {
      if (result.status === 'fulfilled') pictures.push(result.value);
      else showToast((result.reason as Error).message, { isFault: true });
    }
    // The draft may have changed in the meantime.
    chat.changeDraft({ pictures: [...chat.state.draft.pictures, ...pictures] });
    setReading(false);
  };
  useTransfers(({ files }) => void add([...files]));
  const submit = () => {
    if (!canSend) return;
    chat.send(model);
    toEnd();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of characters.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  const stop = () => {
    chat.stop();
    field.current!.focus();
  };
  return (
    <Form class="composer card" onSubmit={submit}>
      <label for="message" class="hidden">
        Message
      </label>
      <textarea
        id="message"
        ref={field}
        rows={3}
        dir="auto"
        placeholder="Message"
        aria-describedby="message-hint"
        value={draft.text}
        onInput={reporting((text) => chat.changeDraft({ text }))}
        onKeyDown={onKeyDown}
      />
      {draft.pictures.length > 0 && (
        <Pictures
          pictures={draft.pictures}
          onRemove={(index) => chat.changeDraft({ pictures: draft.pictures.toSpliced(index, 1) })}
        />
      )}
      <div class="row">
        <FileButton label="Image files" isBusy={isReading} onFiles={add}>
          Add images
        </FileButton>
        <span id="message-hint" class={obstacle ? 'fault' : 'hint'}>
          {obstacle ?? 'Enter sends, Shift+Enter starts a line'}
        </span>
        <span class="end">
          {chat.isStreaming ? (
            <Button onClick={stop}>Stop</Button>
          ) : (
            <Button kind="primary" type="submit" disabled={!canSend}>
              Send
            </Button>
          )}
        </span>
      </div>
    </Form>
  );
}

interface PicturesProps {
  readonly pictures: readonly Picture[];
  readonly onRemove?: (index: number) => void;
}

/** Pictures of a message, small. */
export function Pictures({ pictures, onRemove }: PicturesProps) {
  return (
    <ul class="pictures" aria-label="Images">
      {pictures.map(({ name, url, note }, index) => (
        <li key={index} class="removable">
          <img src={url} alt={name} title={`${name}, ${note}`} />
          <span class="hint">{note}</span>
          {onRemove && <CloseButton label={`Remove ${name}`} onClick={() => onRemove(index)} />}
        </li>
      ))}
    </ul>
  );
}
