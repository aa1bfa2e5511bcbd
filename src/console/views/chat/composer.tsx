import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';
import { Button, CloseButton, FileButton } from '../../components/button.tsx';
import { showToast } from '../../components/toast.tsx';
import type { Picture } from './formats/conversation.ts';
import { pictureOf } from './pictures.ts';
import type { ChatState } from './storage.ts';

interface ComposerProps {
  readonly draft: ChatState['draft'];
  readonly field: RefObject<HTMLTextAreaElement>;
  readonly isStreaming: boolean;
  /** Why nothing can be sent; null if it can. */
  readonly obstacle: string | null;
  readonly onText: (text: string) => void;
  /** Called after the time that reading takes, in which the draft may have changed. */
  readonly onAdd: (pictures: readonly Picture[]) => void;
  readonly onPictures: (pictures: readonly Picture[]) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
}

/** Reads files as pictures, and reports those that are none. */
export async function readPictures(files: readonly File[]): Promise<readonly Picture[]> {
  const results = await Promise.allSettled(files.map(pictureOf));
  for (const result of results) {
    if (result.status === 'rejected') {
      showToast((result.reason as Error).message, { isFault: true });
    }
  }
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

/** The field for the next message. */
export function Composer({
  draft,
  field,
  isStreaming,
  obstacle,
  onText,
  onAdd,
  onPictures,
  onSend,
  onStop,
}: ComposerProps) {
  const [isReading, setReading] = useState(false);
  const isEmpty = draft.text.trim() === '' && draft.pictures.length === 0;
  const canSend = !isEmpty && !isStreaming && !isReading && obstacle === null;
  const add = async (files: readonly File[]) => {
    setReading(true);
    const pictures = await readPictures(files);
    setReading(false);
    onAdd(pictures);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (canSend) onSend();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of characters.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    submit(event);
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void add(files);
  };
  return (
    <form class="composer card" onSubmit={submit}>
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
        onInput={({ currentTarget }) => onText(currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      {draft.pictures.length > 0 && (
        <Pictures
          pictures={draft.pictures}
          onRemove={(index) => onPictures(draft.pictures.filter((_, other) => other !== index))}
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
          {isStreaming ? (
            <Button onClick={onStop}>Stop</Button>
          ) : (
            <Button kind="primary" type="submit" disabled={!canSend}>
              Send
            </Button>
          )}
        </span>
      </div>
    </form>
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
