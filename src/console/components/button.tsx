import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'size'> {
  /** `primary` for the one main action of a view, `danger` for what cannot be undone. */
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  /** Disables the button and shows that its action is in progress. */
  readonly isBusy?: boolean;
  readonly children: ComponentChildren;
}

export function Button({ kind = 'plain', isBusy = false, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind}`}
      aria-busy={isBusy}
      disabled={isBusy || rest.disabled}
    >
      {children}
    </button>
  );
}

interface CloseButtonProps {
  /** `Remove photo.jpg`; `Close` by default. */
  readonly label?: string;
  readonly onClick: () => void;
}

export function CloseButton({ label = 'Close', onClick }: CloseButtonProps) {
  return (
    <button type="button" class="close" aria-label={label} onClick={onClick}>
      ×
    </button>
  );
}

interface FileButtonProps extends Pick<ButtonProps, 'kind' | 'isBusy' | 'disabled' | 'children'> {
  /** Name of the field that takes the files. */
  readonly label: string;
  /** Files that the browser's dialog offers. */
  readonly accept?: string;
  readonly isFolder?: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

/** A button that asks for files. The same file can be chosen again. */
export function FileButton(props: FileButtonProps) {
  const { label, accept = 'image/*', isFolder = false, onFiles, ...button } = props;
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // JSX does not know this attribute.
    input.current!.webkitdirectory = isFolder;
  }, [isFolder]);
  return (
    <>
      <input
        ref={input}
        class="hidden"
        type="file"
        accept={isFolder ? undefined : accept}
        multiple={!isFolder}
        tabIndex={-1}
        aria-label={label}
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          currentTarget.value = '';
          onFiles(files);
        }}
      />
      <Button {...button} onClick={() => input.current!.click()} />
    </>
  );
}
