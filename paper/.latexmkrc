# pdfTeX with BibTeX. The clock is stopped, so that two builds from the same inputs give the same bytes.
$pdf_mode = 1;
$pdflatex = 'pdflatex -interaction=nonstopmode -halt-on-error %O %S';
$ENV{'SOURCE_DATE_EPOCH'} = '1796000000';
$ENV{'FORCE_SOURCE_DATE'} = '1';
